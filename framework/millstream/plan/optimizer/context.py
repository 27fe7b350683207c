"""The context of a rule besides the plan, and the changes that it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from millstream.core.cached_property import once
from millstream.core.node_id import NodeId
from millstream.core.types import Type
from millstream.plan.nodes import Node, Plan
from millstream.plan.optimizer.changes import ChangeHistory
from millstream.plan.walk import find_consumers


class PlanHints(Struct, frozen=True):
    """Facts that SQL does not show; none of them changes a result."""

    keeps: Mapping[NodeId, float] = {}
    """By model id: the share of rows that its filter keeps."""
    rows_per_second: Mapping[NodeId, float] = {}
    """By id of a relation."""
    distinct: Mapping[tuple[NodeId, str], int] = {}
    """By id of a relation and column: the approximate number of distinct values."""
    costs: Mapping[str, str] = {}
    """By Python function: low, medium, high."""
    returns: Mapping[str, Type] = {}
    """By Python function: its return type."""
    keeps_by_span: Mapping[tuple[NodeId, int, int], float] = {}
    """By model id and span of its SQL: the share of rows that its filter there keeps. Filters of other models
    may have been merged with it."""
    queries: Literal["shared", "stateless", "separate", "one"] = "shared"
    """Which models share a query: those of one state and those without, only the latter, none, or all."""
    costly_calls: frozenset[str] = frozenset()
    """The Python functions of which a call costs more than to read a value from a topic."""


class PlanChange(Struct, frozen=True):
    """One change by a rule, as a sentence that names models and columns."""

    what: str
    models: tuple[NodeId, ...] = ()


Result = tuple[Plan, tuple[PlanChange, ...]]
Rule = Callable[[Plan, "RuleContext"], Result]
"""The function's name is the rule's name. A rule without changes returns the same plan object."""


class RuleContext:
    """Facts about one plan, computed on demand."""

    def __init__(
        self,
        plan: Plan,
        hints: PlanHints,
        switched_off: Mapping[NodeId, frozenset[str]],
        changes: ChangeHistory | None = None,
    ) -> None:
        self.plan = plan
        self.hints = hints
        self.switched_off = switched_off
        """By model id: the rules that don't apply to its nodes."""
        self._changes = changes

    @property
    def order(self) -> tuple[Node, ...]:
        return self.plan.order

    @once
    def consumers(self) -> dict[int, list[Node]]:
        """The readers of each node, by its `id`."""
        return find_consumers(self.plan)

    def changed(self, rule: str) -> Sequence[Node]:
        """Return the nodes that have changed since a rule last ran, in order; at first, all.

        A node counts as changed if it, any of its direct or indirect inputs, or their readers have changed. A
        rule that depends on nothing else has nothing to do for other nodes.
        """
        return self.order if self._changes is None else self._changes.since(rule)

    @once
    def shared_ids(self) -> frozenset[int]:
        """The `id`s of the nodes with more than one reader."""
        return frozenset(name for name, readers in self.consumers.items() if len(readers) > 1)

    def findings(self, rule: str) -> dict[Any, Any]:
        """Return a rule's cache of findings; it must hold their nodes, or others could get the same `id`."""
        return {} if self._changes is None else self._changes.findings.setdefault(rule, {})

    def shared(self, node: Node) -> bool:
        """Return whether more than one node reads this one."""
        return id(node) in self.shared_ids

    def allows(self, rule: str, *nodes: Node) -> bool:
        """Return whether none of the models of these nodes has switched the rule off."""
        if not self.switched_off:
            return True
        return not any(rule in self.switched_off.get(model, ()) for node in nodes for model in node.models)
