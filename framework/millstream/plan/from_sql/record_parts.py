"""Carries the time of records, and their headers, from what a sink reads to the records that it sends.

sink ← project id, amount ← decode id, amount, _timestamp
sink ← project id, amount, _millstream_time = _timestamp ← decode id, amount, _timestamp

The column is one like any other, so rules prune, merge and move it as they do with those that SQL selects.
Each row has the time of the record that it comes from. A join of streams has the later one of both, a group
the newest of what it read, and a window its last millisecond, for which it needs no state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, join_pieces
from millstream.core.node_id import NodeId
from millstream.core.types import TIMESTAMP, Type
from millstream.outputs.kinds import PROCESSING_TIME, Sink
from millstream.plan.from_sql.scope import identity_items, unused_name
from millstream.plan.nodes import (
    METADATA,
    RECORD_HEADERS,
    RECORD_TIME,
    RELAYED_TIME,
    Aggregate,
    Binary,
    Column,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Item,
    Join,
    JoinColumn,
    Lookup,
    Measure,
    Node,
    Output,
    Project,
    Repartition,
    Stateful,
    TemporalJoin,
    TopicScan,
    Unary,
    Union,
    Watermark,
)
from millstream.plan.nodes.order import in_order
from millstream.sql.substitution import substitute_columns

AnyJoin = TypeVar("AnyJoin", bound=Binary)


class RecordPart(NamedTuple):
    """A part of records that is carried."""

    name: str
    """The column in which it reaches the sink."""
    metadata: str
    """The metadata of a topic that it comes from."""
    type: Type

    @property
    def cache(self) -> str:
        """The name under which what carries it is cached."""
        return f"carried {self.name}"

    @property
    def missing(self) -> Expression:
        return Expression((f"cast(null as {self.type})",), self.type, atomic=True)


TIME = RecordPart(RECORD_TIME, "_timestamp", TIMESTAMP)
HEADERS = RecordPart(RECORD_HEADERS, "_headers", METADATA["_headers"].type)
POSITION = tuple(
    RecordPart(f"_millstream{name}", name, METADATA[name].type) for name in ("_partition", "_offset")
)
"""Where the record of a row is in its topic."""


class CarriedPart(NamedTuple):
    """A relation, and a part of the records which its rows come from as an expression over its columns."""

    node: Node
    value: Expression


def carry_part(root: Node, part: RecordPart) -> CarriedPart | None:
    """Return a relation with a part of its records; None if its rows come from no records of one topic.

    The result is cached on the node, so what models share they also share with this part.
    """
    cache = part.cache
    pending = [root]
    while pending:  # inputs first, without recursion
        node = pending[-1]
        missing = [lower for lower in _carrying(node, part) if cache not in lower.__dict__]
        if cache in node.__dict__:
            pending.pop()
        elif missing:
            pending += missing
        else:
            below = [lower.__dict__[cache] for lower in _carrying(node, part)]
            pending.pop().__dict__[cache] = _over(node, below, part)
    source: CarriedPart | None = root.__dict__[cache]
    return source


TIMESTAMP_OPTION = "timestamp"
"""The option of a sink whose SQL is the time of its records."""


def carry_sent_parts(output: Output, sink: Sink, time: Expression | None) -> Output:
    """Return a sink with the parts of records that it sends besides keys and values."""
    root = output.input
    if RECORD_TIME in root.by_name:
        pass  # its SELECT computes it
    elif time is not None:
        root = _with_item(root, root, Item(RECORD_TIME, time))
    elif sink.timestamp != PROCESSING_TIME:
        root = with_part(root, TIME)
    if sink.keep_headers:
        root = with_part(root, HEADERS)
    return replace(output, input=root)


def versions_of(root: Node) -> list[Node]:
    """Return the rows of a view, and those with parts of records that sinks take from it."""
    versions = [root]
    for part in (TIME, HEADERS):
        carriers = [node.__dict__.get(part.cache) for node in versions]
        versions += [carrier.node for carrier in carriers if carrier is not None]
    return list({id(node): node for node in versions}.values())


def with_relayed_time(root: Node) -> Node:
    """Return the rows of a topic between two queries, with the time of the record that a row comes from."""
    source = carry_part(root, TIME)
    return root if source is None else _with_item(root, source.node, Item(RELAYED_TIME, source.value))


def relays_with_times(output: Output) -> set[NodeId]:
    """Return the views whose relay topics an output reads with the time of records."""
    return {node.relation for node in in_order((output,)) if is_relay(node) and RELAYED_TIME in node.by_name}


def with_part(root: Node, part: RecordPart) -> Node:
    """Return a sink's rows with a column for the part, if they have it."""
    source = carry_part(root, part)
    if source is None:
        return root
    if source.value.column == part.name and source.node.names == (*root.names, part.name):
        return source.node
    return _with_item(root, source.node, Item(part.name, source.value))


def with_place(root: Node) -> tuple[Node, tuple[str, ...]]:
    """Return rows with the columns of their records' place, and the names of these, if they have them."""
    names: list[str] = []
    for part in POSITION:
        source = carry_part(root, part)
        if source is None:
            return root, ()
        root, value = _as_column(source, root, part)
        names.append(value.column or "")
    return root, tuple(names)


def _with_item(root: Node, input_node: Node, item: Item) -> Node:
    """Return the columns of a model, and one more; the same node for equal calls."""
    cache = f"with {item.name} {item.expression.content}"
    if cache not in root.__dict__:
        root.__dict__[cache] = _selected(input_node, (*identity_items(root), item), root)
    node: Node = root.__dict__[cache]
    return node


def _selected(node: Node, items: Sequence[Item], like: Node) -> Project:
    return Project(input=node, items=tuple(items), label=like.label, models=like.models)


def is_relay(node: Node) -> bool:
    """Return whether a node reads a topic between two queries of the project."""
    return isinstance(node, Decode) and isinstance(node.input, TopicScan) and node.input.relay


def _carrying(node: Node, part: RecordPart) -> tuple[Node, ...]:
    """Return the inputs from which a node's rows have the part."""
    match node:
        case Lookup() | TemporalJoin():
            return (node.left,)
        case Join():
            return () if part is not TIME else (node.left,) if node.kind == "semi" else node.inputs
        case Aggregate() | Stateful():
            windows = isinstance(node, Aggregate) and node.window is not None
            return () if part is not TIME or windows else node.inputs
        case Union() if part in POSITION:
            return ()  # partitions of several topics have equal numbers
        case Filter() | Project() | Repartition() | Watermark() | Dedupe() | Expand() | Union():
            return node.inputs
        case _:
            return ()


def _over(node: Node, below: Sequence[CarriedPart | None], part: RecordPart) -> CarriedPart | None:
    """Return a node over inputs that carry the part."""
    match node:
        case Decode():
            return _decoded(node, part)
        case Aggregate() if part is TIME:
            return _grouped(node, below)
        case Union() if part not in POSITION:
            return _united(node, below, part)
        case Join() if part is TIME:
            return _joined(node, below)
    (source,) = below or (None,)
    if source is None:
        return None
    match node:
        case Project():
            return _projected(node, source, part)
        case Lookup() | TemporalJoin():
            over, (value,) = _with_columns(node, {"left": source})
            return source._replace(node=over, value=value)
        case Repartition():
            rows, value = _as_column(source, node.input, part)
            return source._replace(node=node.with_inputs(rows), value=value)
        case Stateful():
            return _called(node, source, part)
        case Watermark():
            return _timed(node, source)
        case Unary():
            return source._replace(node=node.with_inputs(source.node))
        case _:
            raise TypeError(type(node))


def _decoded(node: Decode, part: RecordPart) -> CarriedPart | None:
    if is_relay(node) and part not in POSITION:
        # A topic drops records by their time, so this one has the time of sending.
        field = Column(RELAYED_TIME, TIMESTAMP)
        timed = replace(node, fields=(*node.fields, field))
        return CarriedPart(timed, field.expression) if part is TIME else None
    read = node
    if part.metadata not in node.metadata:
        read = replace(node, metadata=(*node.metadata, part.metadata))
    return CarriedPart(read, read.column(part.metadata).expression)


def _as_column(source: CarriedPart, like: Node, part: RecordPart) -> tuple[Node, Expression]:
    """Return a relation that has the part as a column."""
    if source.value.column:
        return source.node, source.value
    items = (*identity_items(like), Item(part.name, source.value))
    node = _selected(source.node, items, like)
    return node, node.column(part.name).expression


def _projected(node: Project, source: CarriedPart, part: RecordPart) -> CarriedPart:
    column = source.value.column
    passed = next((item.name for item in node.items if column and item.expression.column == column), "")
    items = node.items if passed else (*node.items, Item(part.name, source.value))
    over = replace(node, input=source.node, items=items)
    return source._replace(node=over, value=over.column(passed or part.name).expression)


def _timed(node: Watermark, source: CarriedPart) -> CarriedPart:
    """Keep the time apart from the event time, by which Spark drops late rows wherever its column gets."""
    over = node.with_inputs(source.node)
    if node.time not in source.value.columns:
        return source._replace(node=over)
    pieces = join_pieces(("timestamp_micros(unix_micros(", *source.value.pieces, "))"))
    return source._replace(node=over, value=replace(source.value, pieces=pieces, atomic=True))


def _grouped(node: Aggregate, below: Sequence[CarriedPart | None]) -> CarriedPart | None:
    if (window := node.window) is not None:
        return CarriedPart(node, _last_millisecond(window.name, closed=node.emit == "on_close"))
    (source,) = below
    if source is None:
        return None
    pieces = join_pieces(("max(", *source.value.pieces, ")"))
    nullable = source.value.nullable or not node.keys
    newest = replace(source.value, pieces=pieces, nullable=nullable, atomic=True)
    over = replace(node, input=source.node, measures=(*node.measures, Measure(RECORD_TIME, newest, "max")))
    return CarriedPart(over, over.column(RECORD_TIME).expression)


def _last_millisecond(window: str, *, closed: bool) -> Expression:
    """Return the time of a window's rows, which is not in the future.

    Kafka refuses such records, and readers would take what follows them as late. The clock stands still
    within a batch, so it is the same for all that take these rows.
    """
    last = (Ref(window), ".end - interval 1 millisecond")
    if closed:
        return Expression(last, TIMESTAMP, nullable=False)
    pieces = ("least(", *last, ", current_timestamp())")
    return Expression(pieces, TIMESTAMP, nullable=False, atomic=True)


def _called(node: Stateful, source: CarriedPart, part: RecordPart) -> CarriedPart:
    input_node, value = _as_column(source, node.input, part)
    generated = (*node.generated, Column(RECORD_TIME, TIMESTAMP))
    over = replace(node, input=input_node, generated=generated, times=value.column or "")
    return CarriedPart(over, over.column(RECORD_TIME).expression)


def _united(node: Union, below: Sequence[CarriedPart | None], part: RecordPart) -> CarriedPart | None:
    if not any(below):
        return None
    sides = tuple(_side(side, source, part) for side, source in zip(node.sides, below, strict=True))
    over = replace(node, sides=sides, types=(*node.types, part.type) if node.types else ())
    return CarriedPart(over, over.column(part.name).expression)


def _side(side: Node, source: CarriedPart | None, part: RecordPart) -> Node:
    value = part.missing if source is None else source.value
    return _selected(
        side if source is None else source.node, (*identity_items(side), Item(part.name, value)), side
    )


def _joined(node: Join, below: Sequence[CarriedPart | None]) -> CarriedPart | None:
    """Return a join with the later time of both rows, or that of the only one."""
    over, values = _with_columns(node, dict(zip(("left", "right"), below, strict=False)))
    if len(values) < 2:
        return CarriedPart(over, values[0]) if values else None
    pieces = join_pieces(("greatest(", *values[0].pieces, ", ", *values[1].pieces, ")"))
    return CarriedPart(over, replace(values[0], pieces=pieces, nullable=True, atomic=True))


def _with_columns(node: AnyJoin, sides: Mapping[str, CarriedPart | None]) -> tuple[AnyJoin, list[Expression]]:
    """Return a join of sides that carry a part, and this part of each side over the columns of the join."""
    columns: dict[str, list[JoinColumn]] = {"left": [], "right": []}
    for joined_column in node.joined:
        columns[joined_column.side].append(joined_column)
    names: dict[str, dict[str, str]] = {"left": {}, "right": {}}
    carrying = {side: source for side, source in sides.items() if source is not None}
    for side, source in carrying.items():
        for read in sorted(source.value.columns):
            name = next((column.name for column in columns[side] if column.source == read), "")
            if not name:
                name = unused_name(read, [column.name for both in columns.values() for column in both])
                columns[side].append(JoinColumn(name, "left" if side == "left" else "right", read))
            names[side][read] = name
    inputs = {side: source.node for side, source in carrying.items()}
    over = replace(node, **inputs, joined=(*columns["left"], *columns["right"]))
    values: list[Expression] = []
    for side, source in carrying.items():
        by = {read: over.column(name).expression for read, name in names[side].items()}
        values.append(substitute_columns(source.value, by))
    return over, values
