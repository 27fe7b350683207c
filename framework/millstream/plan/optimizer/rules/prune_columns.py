"""Only columns that are read are decoded, calculated, shuffled and joined.

decode user, value, note → project user, value * 2 as twice → repartition by user → aggregate count(*) by user
decode user → project user → repartition by user → aggregate count(*) by user
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.formats.registry import format_of
from millstream.plan.needs import (
    Names,
    needed_items,
    needed_joined,
    needed_measures,
    needed_positions,
    of_input,
)
from millstream.plan.nodes import (
    Aggregate,
    Binary,
    Decode,
    Join,
    Node,
    Plan,
    Project,
    Repartition,
    RowsScan,
    TemporalJoin,
    Union,
    is_hidden,
)
from millstream.plan.optimizer.context import PlanChange, Result, RuleContext
from millstream.plan.optimizer.names import node_kind
from millstream.plan.optimizer.needs import all_needs
from millstream.plan.walk import with_outputs


def prune_columns(plan: Plan, context: RuleContext) -> Result:
    needs = all_needs(context, "prune_columns")
    new: dict[int, Node] = {}
    """By `id`, the nodes that were replaced."""
    narrow = _Narrow()
    changes: list[PlanChange] = []
    for node in context.order:
        if id(node) in needs.settled and new.keys().isdisjoint(map(id, node.inputs)):
            continue
        inputs = tuple([new.get(id(input_node), input_node) for input_node in node.inputs])
        needed = needs.of[id(node)]
        narrowed = _narrowed(node, needed)
        if narrowed is not node:
            lost = set(node.names) - set(narrowed.names)
            if not lost or not all(map(is_hidden, lost)):
                changes.append(PlanChange(f"{node_kind(node)} omits {_lost(node, narrowed)}", node.models))
        if isinstance(node, Union):
            narrowed = _union(node, inputs, needed, narrow)
        else:
            if isinstance(node, _NARROWED):
                inputs = tuple(
                    narrow(input_node, set(of_input(node, i, needed)), node.models)
                    for i, input_node in enumerate(inputs)
                )
            narrowed = narrowed.with_inputs(*inputs)
        if narrowed is not node:
            new[id(node)] = narrowed
    if not new:
        return plan, ()
    changes += [PlanChange(f"only {names} is read above", models) for names, models in narrow.reads]
    return with_outputs(plan, new), tuple(changes)


_NARROWED = (Repartition, Join, TemporalJoin)
"""Below these nodes, unused columns would be shuffled or stored."""


class _Narrow:
    """Puts projections above nodes with unused columns; readers of the same columns share one."""

    def __init__(self) -> None:
        self.projections: dict[tuple[int, tuple[str, ...]], Node] = {}
        self.reads: list[tuple[str, tuple[NodeId, ...]]] = []

    def __call__(self, node: Node, names: Names, models: tuple[NodeId, ...]) -> Node:
        if names.issuperset(node.by_name):
            return node
        # SQL has no empty projection.
        columns = tuple(column for column in node.columns if column.name.lower() in names) or node.columns[:1]
        if len(columns) == len(node.columns):
            return node
        key = (id(node), tuple(column.name for column in columns))
        if key not in self.projections:
            items = tuple(column.item for column in columns)
            self.projections[key] = Project(input=node, items=items, models=models)
            self.reads.append(
                (", ".join(column.name for column in columns if not is_hidden(column.name)), models)
            )
        return self.projections[key]


def _narrowed(node: Node, needed: Names) -> Node:
    """Return a node that only computes the `needed` columns; the same node if it has no others."""
    match node:
        case Project():
            items = needed_items(node, needed)
            return node if len(items) == len(node.items) else replace(node, items=items)
        case Aggregate():
            measures = needed_measures(node, needed)
            return node if len(measures) == len(node.measures) else replace(node, measures=measures)
        case Decode():
            return _decode(node, needed)
        case RowsScan():
            columns = tuple(column for column in node.columns if column.name.lower() in needed)
            return node if len(columns) == len(node.columns) else replace(node, columns=columns)
        case Binary():
            joined = needed_joined(node, needed)
            return node if len(joined) == len(node.joined) else replace(node, joined=joined)
    return node


def _decode(node: Decode, needed: Names) -> Decode:
    fields = node.fields
    good = tuple(condition for condition in node.good if condition.name in needed)
    # A wrong value of a column that decides whether a record is bad must be found.
    deciding = set[str]().union(*(condition.columns for condition in good))
    if node.key is not None and "_key" in deciding:
        deciding = deciding - {"_key"} | {node.key.name.lower()}
    needed = needed | deciding
    if not (format_of(node.format).by_position or node.checks_all_columns):
        # A record that can't be decoded is bad even for readers that don't use its value.
        fields = tuple(field for field in fields if field.name.lower() in needed) or fields[:1]
    metadata = tuple(name for name in node.metadata if name.lower() in needed)
    key = (
        node.key
        if node.key is not None and (node.checks_all_columns or node.key.name.lower() in needed)
        else None
    )
    if (fields, metadata, key, good) == (node.fields, node.metadata, node.key, node.good):
        return node
    return replace(node, fields=fields, metadata=metadata, key=key, good=good)


def _union(node: Union, inputs: tuple[Node, ...], needed: Names, narrow: _Narrow) -> Union:
    """Keep the same positions of all sides, even if other columns of a side are read."""
    positions = needed_positions(node, needed)
    complete = len(positions) == len(node.columns)
    sides = tuple(
        narrow(
            new,
            set(old.by_name if complete else (old.columns[i].name.lower() for i in positions)),
            node.models,
        )
        for new, old in zip(inputs, node.sides, strict=True)
    )
    if complete and all(a is b for a, b in zip(sides, node.sides, strict=True)):
        return node
    return replace(node, sides=sides, types=tuple(node.types[i] for i in positions) if node.types else ())


def _lost(old: Node, new: Node) -> str:
    left = {*new.names, *filter(is_hidden, old.names)}
    return ", ".join(name for name in old.names if name not in left) or "columns that only it read"
