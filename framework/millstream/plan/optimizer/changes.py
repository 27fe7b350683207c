"""Tracks which nodes have changed since a rule last ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.plan.nodes import Node


class ChangeHistory:
    """Records when each node of a plan, its inputs or their readers last changed."""

    def __init__(self) -> None:
        self._step = 0
        self._last_run: dict[str, int] = {}
        """By rule: the step after which it last ran."""
        self._order: tuple[Node, ...] = ()
        self._readers: dict[int, list[Node]] = {}
        self._changed: dict[int, int] = {}
        """By the `id` of a node: the step in which it changed; 0 from the start."""
        self.findings: dict[str, dict[Any, Any]] = {}
        """By rule: its cached findings about nodes, which are immutable."""

    def note(self, order: tuple[Node, ...], readers: dict[int, list[Node]]) -> None:
        """Compare a plan with the previous one."""
        step = self._step
        before, when, changed = self._readers, self._changed, dict[int, int]()
        for node in order:
            name = id(node)
            last = when[name] if before.get(name) == readers[name] else step
            for input_node in node.inputs:
                below = changed[id(input_node)]
                if below > last:  # noqa: PLR1730 - `max` would take much of this loop
                    last = below
            changed[name] = last
        self._order, self._readers, self._changed = order, readers, changed
        self._step = step + 1

    def ran(self, rule: str) -> None:
        """Record that a rule has seen the current plan."""
        self._last_run[rule] = self._step

    def since(self, rule: str) -> Sequence[Node]:
        if rule not in self._last_run:
            return self._order
        last_run, changed = self._last_run[rule], self._changed
        return [node for node in self._order if changed[id(node)] >= last_run]
