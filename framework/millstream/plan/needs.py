"""The columns that a node needs of its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.core.expressions import Expression
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


def of_input(node: Node, index: int, needed: Names) -> Iterable[str]:
    """Return the columns of one input that a node needs for its `needed` columns."""
    match node:
        case Filter():
            return needed.union(*(condition.folded for condition in node.conditions))
        case Project():
            items = needed_items(node, needed)
            return node.read if items is node.items else _read(item.expression for item in items)
        case Union():
            columns = node.sides[index].columns
            return [columns[i].name.lower() for i in needed_positions(node, needed)]
        case Expand():
            return (needed - {column.name.lower() for column in node.generated}) | node.call.folded
        case Repartition():
            return needed.union(map(str.lower, node.keys))
        case Aggregate():
            keys = (key.expression for key in node.keys)
            measures = needed_measures(node, needed)
            return _read(
                (*keys, *(m.call for m in measures), *(m.condition for m in measures if m.condition))
            )
        case Dedupe():
            # Spark forgets keys by the event time, so it must be among the columns.
            times = (name for name, _ in traits_of(node.input).watermarks)
            return needed.union(map(str.lower, (*node.own_columns, *times)))
        case Watermark():
            return needed | {node.time.lower()}
        case TemporalJoin():
            return [*_of_side(node, index, needed), *map(str.lower, node.own_columns[index])]
        case Binary():
            return _of_side(node, index, needed)
        case _:
            return node.inputs[index].by_name


def _of_side(node: Binary, index: int, needed: Names) -> list[str]:
    side = "left" if index == 0 else "right"
    return [joined.source.lower() for joined in needed_joined(node, needed) if joined.side == side]


def needed_items(node: Project, needed: Names) -> tuple[Item, ...]:
    if needed.issuperset(node.by_name):
        return node.items
    keys = {key.lower() for key in node.keys}
    named = zip(node.by_name, node.items, strict=True)
    return tuple([item for name, item in named if name in needed or name in keys])


def needed_measures(node: Aggregate, needed: Names) -> tuple[Measure, ...]:
    measures = tuple(measure for measure in node.measures if measure.name.lower() in needed)
    return measures if measures or node.keys else node.measures[:1]


def needed_positions(node: Union, needed: Names) -> Sequence[int]:
    if needed.issuperset(node.by_name):
        return range(len(node.columns))
    return [i for i, name in enumerate(node.by_name) if name in needed]


def needed_joined(node: Binary, needed: Names) -> tuple[JoinColumn, ...]:
    read = needed | _read(node.on)
    return tuple([joined for name, joined in node.by_joined.items() if name in read])


def _read(expressions: Iterable[Expression]) -> Names:
    return set[str]().union(*[expression.folded for expression in expressions])
