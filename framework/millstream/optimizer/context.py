"""What a rule may look at beside the plan, and what it says of what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from millstream.once import once
from millstream.optimizer.changes import Changes
from millstream.plan.nodes import Node, Plan
from millstream.plan.walk import consumers
from millstream.types import Type


class Hints(Struct, frozen=True):
    """What nobody can see in SQL; none of it changes a result."""

    keeps: Mapping[str, float] = {}
    """By model id: the share of rows that its filter keeps."""
    rows_per_second: Mapping[str, float] = {}
    """By id of a relation."""
    distinct: Mapping[tuple[str, str], int] = {}
    """By id of a relation and column: about how many values."""
    costs: Mapping[str, str] = {}
    """By Python function: low, medium, high."""
    returns: Mapping[str, Type] = {}
    """By Python function: the type of what it gives."""
    asked: Mapping[tuple[str, int, int], float] = {}
    """By model id and place in its SQL: the share of rows that its filter there keeps. Other models' filters
    may have become one with it."""


class Change(Struct, frozen=True):
    """One thing that a rule did, in a sentence that names models and columns."""

    what: str
    models: tuple[str, ...] = ()


Result = tuple[Plan, tuple[Change, ...]]
Rule = Callable[[Plan, "Context"], Result]
"""Its name is the rule's name. A rule that finds nothing to do returns the very plan that it was given."""


class Context:
    """One plan's derived facts, each calculated when first asked for."""

    def __init__(
        self,
        plan: Plan,
        hints: Hints,
        switched_off: Mapping[str, frozenset[str]],
        changes: Changes | None = None,
    ) -> None:
        self.plan = plan
        self.hints = hints
        self.switched_off = switched_off
        """By model id: the rules that leave its nodes alone."""
        self._changes = changes

    @property
    def order(self) -> tuple[Node, ...]:
        """All nodes, each once and after its inputs."""
        return self.plan.order

    @once
    def consumers(self) -> dict[int, list[Node]]:
        """Who reads each node, by its `id`."""
        return consumers(self.plan)

    def changed(self, rule: str) -> Sequence[Node]:
        """Return the nodes that look otherwise than when a rule was last asked, in order; at first all.

        What a node looks like is what it is, what it reads however far below, and who reads any of that. A
        rule that looks at no more has found before that there is nothing to do with the others.
        """
        return self.order if self._changes is None else self._changes.since(rule)

    @once
    def fans(self) -> frozenset[int]:
        """The `id`s of the nodes that more than one reads."""
        return frozenset(name for name, readers in self.consumers.items() if len(readers) > 1)

    def found(self, rule: str) -> dict[Any, Any]:
        """Return where a rule keeps what it finds of nodes, for when it is asked again.

        The nodes must be kept, too: another one could get an `id`.
        """
        return {} if self._changes is None else self._changes.found.setdefault(rule, {})

    def shared(self, node: Node) -> bool:
        """Tell whether more than one node reads this one."""
        return id(node) in self.fans

    def allows(self, rule: str, *nodes: Node) -> bool:
        """Tell whether no model that these nodes stand in switched the rule off."""
        if not self.switched_off:
            return True
        return not any(rule in self.switched_off.get(model, ()) for node in nodes for model in node.models)
