"""Which columns of each node somebody reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.expressions import Expression
from millstream.optimizer.context import Context
from millstream.optimizer.cost import is_free
from millstream.plan.nodes import (
    Aggregate,
    AnyNode,
    Binary,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Given,
    Item,
    JoinColumn,
    Measure,
    Node,
    Opaque,
    Output,
    Project,
    Repartition,
    SeedScan,
    Stateful,
    TableScan,
    TopicScan,
    Union,
    Watermark,
)

Names = set[str]
"""In lower case."""


def all_needs(context: Context, rule: str) -> dict[int, Names]:
    """Return the columns that are read of each node, by its `id`; all, where `rule` is switched off."""
    found: dict[int, Names] = {id(node): set() for node in context.order}
    for node in reversed(context.order):
        own = found[id(node)]
        own.update(key.lower() for key in context.traits[id(node)].keys)
        if not context.allows(rule, node):
            own.update(map(str.lower, node.names))
        if not own and node.columns:
            own.add(_any_column(node).lower())
        times = [name for each in node.inputs for name, _ in context.traits[id(each)].watermarks]
        for index, each in enumerate(node.inputs):
            found[id(each)].update(of_input(node, index, own, times))
    return found


def _any_column(node: Node) -> str:
    """Return the column to keep where only the number of rows matters."""
    while isinstance(node, Filter | Repartition | Watermark | Dedupe):
        node = node.input
    free = (i.name for i in node.items if is_free(i.expression)) if isinstance(node, Project) else ()
    return next(iter(free), node.columns[0].name)


def of_input(node: Node, index: int, own: Names, times: Iterable[str]) -> Iterator[str]:
    """Yield what a node reads of one input so that its own columns `own` can be made."""
    known: AnyNode = node  # type: ignore[assignment]  # the union names all subclasses
    match known:
        case TopicScan() | Given() | SeedScan() | TableScan():
            return
        case Decode() | Opaque() | Stateful() | Output():
            yield from (name.lower() for name in node.inputs[index].names)
        case Filter():
            yield from own
            yield from _read(known.conditions)
        case Project():
            yield from _read(item.expression for item in kept_items(known, own))
        case Expand():
            yield from own - {made.name.lower() for made in known.made}
            yield from _read((known.call,))
        case Repartition():
            yield from own
            yield from map(str.lower, known.keys)
        case Aggregate():
            yield from _read(key.expression for key in known.keys)
            for measure in kept_measures(known, own):
                yield from _read((measure.call, *((measure.condition,) if measure.condition else ())))
        case Dedupe():
            yield from own
            yield from map(str.lower, known.keys)
            # Spark forgets keys by the event time, which must be among the columns for that.
            yield from map(str.lower, times)
        case Watermark():
            yield from own
            yield known.time.lower()
        case Union():
            columns = known.sides[index].columns
            yield from (columns[i].name.lower() for i in kept_places(known, own))
        case Binary():
            side = "left" if index == 0 else "right"
            yield from (joined.source.lower() for joined in kept_joined(known, own) if joined.side == side)


def kept_items(node: Project, own: Names) -> tuple[Item, ...]:
    keys = {key.lower() for key in node.keys}
    return tuple(item for item in node.items if item.name.lower() in own or item.name.lower() in keys)


def kept_measures(node: Aggregate, own: Names) -> tuple[Measure, ...]:
    kept = tuple(measure for measure in node.measures if measure.name.lower() in own)
    return kept if kept or node.keys else node.measures[:1]


def kept_places(node: Union, own: Names) -> tuple[int, ...]:
    return tuple(i for i, column in enumerate(node.columns) if column.name.lower() in own)


def kept_joined(node: Binary, own: Names) -> tuple[JoinColumn, ...]:
    needed = own | set(_read(node.on))
    return tuple(joined for joined in node.joined if joined.name.lower() in needed)


def _read(expressions: Iterable[Expression]) -> Iterator[str]:
    for expression in expressions:
        for name in expression.columns:
            yield name.lower()
