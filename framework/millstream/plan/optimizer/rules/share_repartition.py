"""All readers that need the same key share one shuffle, after a filter for the rows that any of them keeps.

hits → filter a → region = substring(key, 1, 5) → repartition by region → count; hits → filter b → … → sum
hits → filter a or b → region → repartition by region, read by: filter a → count; filter b → … → sum

Kafka Streams moves the repartition above the filters, and gives up where a value changes after the key. Here
each reader keeps its own steps above the shuffle; only the key is calculated below it, once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from millstream.core.expressions import Expression, column_expression
from millstream.plan.chains import has_chain, is_chained
from millstream.plan.nodes import Aggregate, Filter, Item, Join, Node, Plan, Project, Repartition
from millstream.plan.optimizer.context import PlanChange, Result, RuleContext
from millstream.plan.optimizer.names import models_of
from millstream.plan.optimizer.paths import BasePath, Pieces, base_paths
from millstream.plan.optimizer.shared_input import add_filter, true_for_any, unused_names, with_keys
from millstream.plan.traits import traits_of
from millstream.plan.walk import rewrite_plan

_NAME = "share_repartition"


class _Member(NamedTuple):
    repartition: Repartition
    way: BasePath
    in_join: bool
    """A join reads it, whose sides must be partitioned alike: the order of the keys matters."""
    by_name: bool
    """Its readers use columns by name, so additional columns do no harm."""

    @property
    def order(self) -> tuple[Pieces, ...]:
        return tuple(key.pieces for key in self.way.expressions)


_Group = list[_Member]


def share_repartition(plan: Plan, context: RuleContext) -> Result:
    if not any(isinstance(node, Repartition) for node in context.changed(_NAME)):
        return plan, ()
    groups = _groups(context)
    if not groups:
        return plan, ()
    of = {id(m.repartition): (index, m) for index, group in enumerate(groups) for m in group}
    new: dict[int, Node] = {}
    built: dict[int, _Shared] = {}

    def visit(node: Node, before: Node) -> Node:
        new[id(before)] = node
        if id(before) not in of:
            return node
        index, member = of[id(before)]
        if index not in built:
            built[index] = _Shared(groups[index], new[id(member.way.base)])
        return built[index].above(member)

    return rewrite_plan(plan, visit), tuple(map(_change, groups))


# -- finding repartitions to share


def _groups(context: RuleContext) -> list[_Group]:
    """Put each repartition with the most others, at their nearest common node."""
    repartitions = [node for node in context.order if isinstance(node, Repartition) and node.keys]
    if len(repartitions) < 2:
        return []
    candidates: defaultdict[tuple[int, frozenset[Pieces]], _Group] = defaultdict(list)
    for node in repartitions:
        for member in _members(node, context):
            candidates[id(member.way.base), frozenset(member.order)].append(member)
    position = {id(node): index for index, node in enumerate(context.order)}
    fitting = {key: _fitting(members) for key, members in candidates.items()}
    groups: list[_Group] = []
    taken: set[int] = set()
    for key in sorted(fitting, key=lambda key: (-len(fitting[key]), -position[key[0]])):
        group = _fitting([m for m in fitting[key] if id(m.repartition) not in taken])
        if len(group) > 1:
            groups.append(group)
            taken.update(id(m.repartition) for m in group)
    return groups


def _members(node: Repartition, context: RuleContext) -> list[_Member]:
    if not context.allows(_NAME, node) or traits_of(node.input).mode == "static" or _in_chain(node, context):
        return []
    readers = context.consumers[id(node)]
    in_join = any(not isinstance(reader, Aggregate) for reader in readers)
    by_name = all(isinstance(reader, Aggregate | Join) for reader in readers)
    keys = tuple(node.input.column(name).expression for name in node.keys)
    return [
        _Member(node, way, in_join, by_name)
        for way in base_paths(node.input, keys, context, shared_top=len(readers) > 1)
        if context.allows(_NAME, *way.steps) and len({k.pieces for k in way.expressions}) == len(keys)
    ]


def _in_chain(node: Repartition, context: RuleContext) -> bool:
    """Return whether it is below or above stacked states, where Spark does not reuse an exchange."""
    if is_chained(node):
        return True
    pending: list[Node] = [node]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if has_chain([current]):
            return True
        pending += context.consumers[id(current)]
    return False


def _fitting(members: _Group) -> _Group:
    """Exclude members whose rows would be shuffled before a filter that drops them.

    A filter that can't move down (it calls Python, or can fail) is acceptable if all of its rows are shuffled
    for another member anyway.
    """
    order = next((m.order for m in members if m.in_join), None)
    alike = [m for m in members if not m.in_join or m.order == order]
    complete = [m.way.conditions.keys() for m in alike if m.way.complete]
    return [
        m
        for m in alike
        if m.way.complete or any(conditions <= m.way.conditions.keys() for conditions in complete)
    ]


# -- the shared shuffle, and the steps of each reader above it


class _Shared:
    """Builds the shared part of a group, and each step above it, once."""

    def __init__(self, group: _Group, base: Node) -> None:
        self.group = group
        models = models_of(*(m.repartition for m in group))
        shared = true_for_any([m.way for m in group])
        self.common = shared.common
        first = next((m for m in group if m.in_join), group[0])
        self.keys = first.order
        self.passing, self.making = _carried(group, self.keys)
        steps = (step for m in group for step in m.way.steps if id(step) in self.passing)
        passed = (item.name for step in steps if isinstance(step, Project) for item in step.items)
        used = [*base.names, *passed]
        names = unused_names(first.repartition.keys, used)
        node, self.names = with_keys(add_filter(base, shared, models), first.way.expressions, names, models)
        self.shuffled = Repartition(input=node, keys=self.names, models=models)
        self.steps: dict[int, Node] = {}

    def above(self, member: _Member) -> Node:
        node: Node = self.shuffled
        for step in reversed(member.way.steps):
            if id(step) not in self.steps:
                self.steps[id(step)] = self._step(step, node, member.way)
            node = self.steps[id(step)]
        columns = member.repartition.columns
        if member.by_name or node.names == tuple(column.name for column in columns):
            return node
        items = tuple(column.item for column in columns)
        return Project(input=node, items=items, models=member.repartition.models)

    def _step(self, step: Filter | Project, node: Node, way: BasePath) -> Node:
        if isinstance(step, Filter):
            left = tuple(
                condition.written
                for condition in way.filter_conditions
                if condition.filter is step
                and (condition.low is None or condition.low.pieces not in self.common)
            )
            return replace(step, input=node, conditions=left) if left else node
        making, passing = self.making.get(id(step), {}), self.passing.get(id(step), ())
        if not making and not passing and all(m.by_name for m in self.group) and _only_narrows(step):
            return node
        items = [
            Item(item.name, self._key(making[item.name], item.expression)) if item.name in making else item
            for item in step.items
        ]
        items += [self.shuffled.column(self.names[key]).item for key in passing]
        return replace(step, input=node, items=tuple(items))

    def _key(self, index: int, was: Expression) -> Expression:
        return column_expression(self.names[index], was.type, nullable=was.nullable)


def _carried(
    group: Sequence[_Member], keys: tuple[Pieces, ...]
) -> tuple[dict[int, dict[int, None]], dict[int, dict[str, int]]]:
    """Return, by the `id` of a step, the keys that it carries for steps above, and those it computes."""
    passing: dict[int, dict[int, None]] = {}
    making: dict[int, dict[str, int]] = {}
    for way in (m.way for m in group):
        for key, computing in zip(way.expressions, way.computed_by, strict=True):
            if computing is None:
                continue
            index = keys.index(key.pieces)
            making.setdefault(id(computing.project), {})[computing.name] = index
            top_down = [id(step) for step in way.steps if isinstance(step, Project)]
            for step_id in top_down[top_down.index(id(computing.project)) + 1 :]:
                passing.setdefault(step_id, {})[index] = None
    return passing, making


def _only_narrows(step: Project) -> bool:
    return not step.label and all(item.expression.column == item.name for item in step.items)


def _change(group: _Group) -> PlanChange:
    models = models_of(*(m.repartition for m in group))
    keys = ", ".join(key.text for key in group[0].way.expressions)
    names = ", ".join(model.shown_name for model in models)
    return PlanChange(
        f"{names} share one repartition of {group[0].way.base.label or 'their input'} by {keys}", models
    )
