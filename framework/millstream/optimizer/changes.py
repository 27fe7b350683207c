"""Which nodes look otherwise than when a rule was last asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.plan.nodes import Node


class Changes:
    """When each node of a plan, or what it reads, or who reads any of that, last changed."""

    def __init__(self) -> None:
        self._step = 0
        self._asked: dict[str, int] = {}
        """By rule: the step after which it was last asked."""
        self._order: tuple[Node, ...] = ()
        self._readers: dict[int, list[Node]] = {}
        self._changed: dict[int, int] = {}
        """By the `id` of a node: the step in which it changed; 0 from the start."""
        self.found: dict[str, dict[Any, Any]] = {}
        """By rule: what it found of nodes, which never change."""

    def note(self, order: tuple[Node, ...], readers: dict[int, list[Node]]) -> None:
        """Compare a plan with the one before it."""
        step = self._step
        before, when, found = self._readers, self._changed, dict[int, int]()
        for node in order:
            name = id(node)
            last = when[name] if before.get(name) == readers[name] else step
            for each in node.inputs:
                last = max(last, found[id(each)])
            found[name] = last
        self._order, self._readers, self._changed = order, readers, found
        self._step = step + 1

    def asked(self, rule: str) -> None:
        """Take note that a rule has seen the plan as it is."""
        self._asked[rule] = self._step

    def since(self, rule: str) -> Sequence[Node]:
        if rule not in self._asked:
            return self._order
        asked, changed = self._asked[rule], self._changed
        return [node for node in self._order if changed[id(node)] >= asked]
