"""Rows are dropped as early as possible, condition by condition.

project substring(user, 1, 5) as k, value → repartition by k → filter value > 10
filter value > 10 → project substring(user, 1, 5) as k, value → repartition by k
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Binary, Filter, Join, Lookup, Node, Plan
from millstream.plan.optimizer.context import PlanChange, Result, RuleContext
from millstream.plan.optimizer.moves import STAYS, from_on, move_below
from millstream.plan.optimizer.names import node_kind
from millstream.plan.walk import with_outputs

_NAME = "push_filters"


class _Condition(NamedTuple):
    expression: Expression
    written: str
    """As it was before it moved."""


class _Group(NamedTuple):
    """The remaining part of a filter on its way down, even if that is only its name."""

    conditions: tuple[_Condition, ...]
    models: tuple[NodeId, ...]
    label: str = ""
    origin: Filter | None = None
    """The original filter, while all of its conditions are together."""


_Edge = tuple[int, int]
"""The `id` of a node, and the index of its input."""


def push_filters(plan: Plan, context: RuleContext) -> Result:
    pushing = _Pushing(context)
    if not pushing.starts:
        return plan, ()
    for node in reversed(context.order):
        pushing.visit(node)
    if not pushing.passed:
        return plan, ()
    return pushing.rebuilt(), pushing.changes()


class _Pushing:
    """One pass down the plan; conditions wait at edges, above the input that they filter."""

    def __init__(self, context: RuleContext) -> None:
        self.context = context
        nodes = context.changed(_NAME)
        self.starts = {id(node) for node in nodes if isinstance(node, Filter | Binary)}
        """Where conditions may start: the others had none that could move down in the last run."""
        self.edges: dict[_Edge, tuple[_Group, ...]] = {}
        self.waiting: set[int] = set()
        """The `id`s of nodes with conditions waiting above them."""
        self.on: dict[int, tuple[Expression, ...]] = {}
        self.crossed: set[int] = set()
        """The nodes that conditions passed, whose rows are different now."""
        self.passed: dict[tuple[str, tuple[NodeId, ...]], dict[str, None]] = {}

    # -- down

    def visit(self, node: Node) -> None:
        if id(node) not in self.waiting and id(node) not in self.starts:
            return
        if not self.context.allows(_NAME, node):
            return
        edge = self._only_edge(node)
        groups = self.edges.get(edge, ()) if edge else ()
        if not groups and id(node) not in self.starts:
            return
        if isinstance(node, Filter):
            group = _Group(
                tuple(_Condition(condition, "") for condition in node.conditions),
                node.models,
                node.label,
                node,
            )
            self.edges[id(node), 0] = (group, *groups)
            self.waiting.add(id(node.input))
            if edge and groups:
                self.edges[edge] = ()
            return
        if edge and groups:
            self.edges[edge] = self._down(node, groups)
        if isinstance(node, Join | Lookup) and id(node) in self.starts:
            self._from_on(node)

    def _only_edge(self, node: Node) -> _Edge | None:
        readers = self.context.consumers[id(node)]
        if len(readers) != 1:
            return None
        inputs = readers[0].inputs
        return id(readers[0]), next(i for i, input_node in enumerate(inputs) if input_node is node) if inputs[
            1:
        ] else 0

    def _down(self, node: Node, groups: tuple[_Group, ...]) -> tuple[_Group, ...]:
        """Move down the conditions that can pass a node, in their order; return those that stay above."""
        stay: list[_Group] = []
        waiting = closed = False
        changed = 0
        for group in groups:
            staying: list[_Condition] = []
            gone: dict[int, list[_Condition]] = {}
            for condition in group.conditions:
                # A condition that can fail must not be evaluated before one that guards it.
                held = closed or (condition.expression.raises and waiting)
                moves = STAYS if held else move_below(node, condition.expression)
                for move in moves:
                    written = condition.written or condition.expression.text
                    gone.setdefault(move.input, []).append(_Condition(move.condition, written))
                    self._note(written, group.models, node)
                if not moves:
                    staying.append(condition)
                    waiting = True
                    closed = closed or not condition.expression.deterministic
            for index, conditions in gone.items():
                self._add(node, index, _Group(tuple(conditions), group.models))
            if gone:
                self.crossed.add(id(node))
                changed = len(stay)
            stay.append(group._replace(conditions=tuple(staying), origin=None) if gone else group)
        # If a later filter has moved below an earlier one, the earlier one's name no longer fits.
        return (*(g._replace(label="", origin=None) for g in stay[:changed]), *stay[changed:])

    def _from_on(self, node: Join | Lookup) -> None:
        stay, moves = from_on(node)
        for move in moves:
            written = move.condition.text
            self._add(node, move.input, _Group((_Condition(move.condition, written),), node.models))
            self._note(written, node.models, node)
        if moves:
            self.on[id(node)] = stay

    def _add(self, node: Node, index: int, group: _Group) -> None:
        self.edges[id(node), index] = (*self.edges.get((id(node), index), ()), group)
        self.waiting.add(id(node.inputs[index]))

    def _note(self, written: str, models: tuple[NodeId, ...], node: Node) -> None:
        self.passed.setdefault((written, models), {})[node_kind(node)] = None

    def changes(self) -> tuple[PlanChange, ...]:
        return tuple(
            PlanChange(f"{written} is applied before {', '.join(reversed(passed))}", models)
            for (written, models), passed in self.passed.items()
        )

    # -- and up again

    def rebuilt(self) -> Plan:
        new: dict[int, Node] = {}
        """By `id`, the nodes that were replaced."""
        filters: dict[tuple[object, ...], Node] = {}
        changing = {name for name, _ in self.edges} | self.crossed | self.on.keys()
        for node in self.context.order:
            if id(node) not in changing and new.keys().isdisjoint(map(id, node.inputs)):
                continue
            rebuilt = self._rebuilt(
                node, [new.get(id(input_node), input_node) for input_node in node.inputs], filters
            )
            if rebuilt is not node:
                new[id(node)] = rebuilt
        return with_outputs(self.context.plan, new)

    def _rebuilt(self, node: Node, inputs: list[Node], filters: dict[tuple[object, ...], Node]) -> Node:
        for index, input_node in enumerate(inputs):
            if groups := self.edges.get((id(node), index)):
                inputs[index] = self._filtered(input_node, groups, filters)
        if isinstance(node, Filter) and (id(node), 0) in self.edges:
            return inputs[0]
        rebuilt = node.with_inputs(*inputs)
        if id(node) in self.on:
            rebuilt = replace(rebuilt, on=self.on[id(node)])
        if id(node) in self.crossed and rebuilt.label:
            rebuilt = replace(rebuilt, label="")
        return rebuilt

    @staticmethod
    def _filtered(node: Node, groups: tuple[_Group, ...], filters: dict[tuple[object, ...], Node]) -> Node:
        for group in groups:
            if group.origin is not None:
                node = group.origin.with_inputs(node)
            elif group.conditions:
                conditions = tuple(condition.expression for condition in group.conditions)
                # Both sides of a union may be one relation: it is filtered once.
                key = (id(node), group.label, group.models, *(condition.text for condition in conditions))
                if key not in filters:
                    filters[key] = Filter(
                        input=node, conditions=conditions, label=group.label, models=group.models
                    )
                node = filters[key]
            elif group.label:
                models = tuple(dict.fromkeys((*node.models, *group.models)))
                node = replace(node, label=group.label, models=models)
        return node
