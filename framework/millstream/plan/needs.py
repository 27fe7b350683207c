"""The columns that a node needs of its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.expressions import Expression
from millstream.plan.nodes import (
    Aggregate,
    Binary,
    Dedupe,
    Expand,
    Filter,
    Item,
    JoinColumn,
    Measure,
    Node,
    Project,
    Repartition,
    TemporalJoin,
    Union,
    Watermark,
)
from millstream.plan.traits import traits_of

Names = set[str]
"""Column names in lower case."""


def of_input(node: Node, index: int, own: Names) -> Iterable[str]:
    """Return the columns of one input that a node needs for its own columns `own`."""
    match node:
        case Filter():
            return own.union(*(each.folded for each in node.conditions))
        case Project():
            items = kept_items(node, own)
            return node.read if items is node.items else _read(item.expression for item in items)
        case Union():
            columns = node.sides[index].columns
            return [columns[i].name.lower() for i in kept_places(node, own)]
        case Expand():
            return (own - {made.name.lower() for made in node.made}) | node.call.folded
        case Repartition():
            return own.union(map(str.lower, node.keys))
        case Aggregate():
            keys = (key.expression for key in node.keys)
            kept = kept_measures(node, own)
            return _read((*keys, *(m.call for m in kept), *(m.condition for m in kept if m.condition)))
        case Dedupe():
            # Spark forgets keys by the event time, so it must be among the columns.
            times = (name for name, _ in traits_of(node.input).watermarks)
            return own.union(map(str.lower, (*node.own_columns, *times)))
        case Watermark():
            return own | {node.time.lower()}
        case TemporalJoin():
            return [*_of_side(node, index, own), *map(str.lower, node.own_columns[index])]
        case Binary():
            return _of_side(node, index, own)
        case _:
            return node.inputs[index].by_name


def _of_side(node: Binary, index: int, own: Names) -> list[str]:
    side = "left" if index == 0 else "right"
    return [joined.source.lower() for joined in kept_joined(node, own) if joined.side == side]


def kept_items(node: Project, own: Names) -> tuple[Item, ...]:
    if own.issuperset(node.by_name):
        return node.items
    keys = {key.lower() for key in node.keys}
    named = zip(node.by_name, node.items, strict=True)
    return tuple([item for name, item in named if name in own or name in keys])


def kept_measures(node: Aggregate, own: Names) -> tuple[Measure, ...]:
    kept = tuple(measure for measure in node.measures if measure.name.lower() in own)
    return kept if kept or node.keys else node.measures[:1]


def kept_places(node: Union, own: Names) -> Sequence[int]:
    if own.issuperset(node.by_name):
        return range(len(node.columns))
    return [i for i, name in enumerate(node.by_name) if name in own]


def kept_joined(node: Binary, own: Names) -> tuple[JoinColumn, ...]:
    needed = own | _read(node.on)
    return tuple([joined for name, joined in node.by_joined.items() if name in needed])


def _read(expressions: Iterable[Expression]) -> Names:
    return set[str]().union(*[each.folded for each in expressions])
