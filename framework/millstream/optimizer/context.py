"""What a rule may look at beside the plan, and what it says of what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from msgspec import Struct

from millstream.plan.nodes import Node, Plan
from millstream.plan.traits import Traits, all_traits
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
        known: Mapping[int, Traits] | None = None,
    ) -> None:
        self.plan = plan
        self._known = known
        """Traits of nodes of the plan before, most of which are nodes of this one, too."""
        self.hints = hints
        self.switched_off = switched_off
        """By model id: the rules that leave its nodes alone."""

    @property
    def order(self) -> tuple[Node, ...]:
        """All nodes, each once and after its inputs."""
        return self.plan.order

    @cached_property
    def consumers(self) -> dict[int, list[Node]]:
        """Who reads each node, by its `id`."""
        return consumers(self.plan)

    @cached_property
    def traits(self) -> dict[int, Traits]:
        """The traits of each node of the plan, by its `id`."""
        return all_traits(self.plan, self._known)

    def shared(self, node: Node) -> bool:
        """Tell whether more than one node reads this one."""
        return len(self.consumers[id(node)]) > 1

    def allows(self, rule: str, *nodes: Node) -> bool:
        """Tell whether no model that these nodes stand in switched the rule off."""
        if not self.switched_off:
            return True
        return not any(rule in self.switched_off.get(model, ()) for node in nodes for model in node.models)
