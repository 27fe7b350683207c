"""Builds the nodes of sources: scan, decoding, derived columns, watermark."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, quote_name
from millstream.core.types import BIGINT, BOOLEAN, STRING, Field, Row
from millstream.formats.changes import AFTER
from millstream.formats.keys import written_key
from millstream.formats.registry import DEFAULT, format_of
from millstream.outputs.kinds import Sink
from millstream.plan.from_sql.catalog import Catalog, ModelSpec, TopicSpec
from millstream.plan.from_sql.scope import identity_items
from millstream.plan.nodes import (
    METADATA,
    RAW,
    Column,
    Decode,
    Dedupe,
    Filter,
    Item,
    Node,
    Project,
    Repartition,
    TopicScan,
    Watermark,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.streaming import kind_of
from millstream.plan.traits import Traits


def topic_node(topic: TopicSpec, metadata: Iterable[str] = METADATA) -> Node:
    """Return a source as its readers see it, with metadata columns at the end."""
    read = tuple(dict.fromkeys((*metadata, *(_read_to_deduplicate(topic) if topic.deduplicate else ()))))
    derived = dict(topic.derived)
    # Derived columns may read metadata that no reader asks for, as those of a reference topic.
    sources = {ref.column for expression in derived.values() for ref in expression.refs}
    decoded = (*read, *(name for name in METADATA if name in sources and name not in read))
    label = "" if topic.deduplicate else topic.name
    node: Node = Decode(
        input=TopicScan(
            relation=topic.id,
            topics=topic.topics,
            pattern=topic.pattern,
            dead_letters=topic.dead_letter_topic,
            history=topic.history,
            columns=RAW,
            label=f"{topic.name}_records",
        ),
        relation=topic.id,
        format=topic.format,
        fields=topic.fields,
        key=topic.key,
        key_type=topic.key_type,
        key_format=topic.key_format,
        metadata=decoded,
        on_bad_record=topic.on_bad_record,
        unique_by=(_KEY,) if topic.key_columns else topic.unique_by,
        label="" if topic.derived or topic.watermark else label,
    )
    if derived:
        plain = {column.name: column.expression for column in node.columns}
        names = [*topic.order, *read]
        items = tuple(Item(name, derived.get(name) or plain[name]) for name in names)
        node = Project(
            input=node, items=items, keys=topic.key_columns, label="" if topic.watermark else label
        )
    if topic.watermark:
        time, delay = topic.watermark
        node = Watermark(input=node, time=time, delay=delay, label=label)
    return first_sent(node, topic, {*metadata}) if topic.deduplicate else node


_KEY = "_key"


def relay_of(view: ModelSpec, catalog: Catalog) -> ModelSpec:
    """Return a view as a model that writes a relay topic, for readers that can't share its query."""
    topic = catalog.relay_topic(view.name)
    return replace(view, materialization=Sink(topic), extras=(), checks=(), metrics=())


def can_relay(columns: Iterable[Column]) -> bool:
    """Return whether a topic preserves the rows of a view."""
    return all(format_of().round_trips(column.type) for column in columns)


def without_watermarks(node: Node) -> Node:
    """Return rows of streams without their event times, down to the first stateful step."""
    untimed: dict[int, Node] = {}
    for current in in_order((node,)):
        if isinstance(current, Watermark):
            untimed[id(current)] = untimed[id(current.input)]
        elif kind_of(current) is not None:
            untimed[id(current)] = current
        else:
            untimed[id(current)] = current.with_inputs(
                *(untimed[id(input_node)] for input_node in current.inputs)
            )
    return untimed[id(node)]


_WHOLE_KEY = "_whole_key"


def _with_key(node: Decode, spec: ModelSpec, sink: Sink, label: str) -> Node:
    """Return all columns of a topic whose values have only one: the others are in the key."""
    columns = {column.name.lower(): column for column in spec.columns}
    keys = [columns[name.lower()] for name in spec.keys]
    written = written_key(sink.key_encoding, [Field(key.name, key.type) for key in keys])
    match keys:
        case [key]:
            name = key.name
            parts = {name: Expression((Ref(name),), key.type, nullable=key.nullable)}
        case _:
            name, key = _WHOLE_KEY, Column(_WHOLE_KEY, written.type)
            parts = {column.name: _field(_WHOLE_KEY, column) for column in keys}
    decoded = replace(node, key=key, key_type=written.type, key_format=written.encoding, label="")
    plain = {column.name: column.expression for column in decoded.fields}
    items = tuple(Item(column.name, parts.get(column.name) or plain[column.name]) for column in spec.columns)
    return Project(input=decoded, items=items, label=label)


def _field(struct_column: str, column: Column) -> Expression:
    pieces: tuple[Piece, ...] = (Ref(struct_column), f".{quote_name(column.name)}")
    return Expression(pieces, column.type, nullable=column.nullable)


def _changes_node(scan: TopicScan, spec: ModelSpec, sink: Sink, label: str) -> Node:
    """Return the rows of a topic of changes: each change has the row after it, and a delete has none.

    The columns of the key are those of the record's key, since a tombstone has nothing else.
    """
    columns = {column.name.lower(): column for column in spec.columns}
    keys = [columns[name.lower()] for name in spec.keys]
    written = written_key(sink.key_encoding, [Field(key.name, key.type) for key in keys])
    whole_key = Column(_WHOLE_KEY, keys[0].type if len(keys) == 1 else written.type)
    read = Decode(
        input=scan,
        relation=spec.id,
        format=DEFAULT,
        fields=(Column(AFTER, Row(tuple(Field(column.name, column.type) for column in spec.columns))),),
        key=whole_key,
        key_type=written.type,
        key_format=written.encoding,
        unique_by=(_WHOLE_KEY,),
    )
    exists = Expression((Ref(AFTER), " is not null"), BOOLEAN, nullable=False)
    parts = {column.name: _field(_WHOLE_KEY, column) for column in keys}
    if len(keys) == 1:
        parts = {keys[0].name: Expression((Ref(_WHOLE_KEY),), keys[0].type, nullable=keys[0].nullable)}
    items = tuple(
        Item(column.name, parts.get(column.name) or _field(AFTER, column)) for column in spec.columns
    )
    return Project(input=Filter(input=read, conditions=(exists,)), items=items, keys=spec.keys, label=label)


def sink_node(spec: ModelSpec, written: Traits, *, relay: bool = False) -> Node:
    """Return the topic that a model writes, as other models read it; times keep their watermarks."""
    sink = spec.materialization.sink
    assert sink is not None, f"{spec.name} writes no topic"
    encoding = sink.encoding
    scan = TopicScan(
        relation=spec.id,
        topics=(sink.topic,),
        dead_letters=sink.dead_letter_topic(spec.name),
        relay=relay,
        columns=RAW,
        label=f"{spec.name}_records",
    )
    label = "" if written.watermarks else spec.name
    if sink.changes:
        return _changes_node(scan, spec, sink, label)
    in_value = sink.value_columns([column.name for column in spec.columns])
    read = Decode(
        input=scan,
        relation=spec.id,
        format=encoding,
        fields=tuple(column for column in spec.columns if column.name in in_value),
        unique_by=spec.keys if written.mode == "upsert" else (),
        label=label,
    )
    node: Node = read
    if len(in_value) < len(spec.columns):
        node = _with_key(read, spec, sink, label)
    for time, delay in written.watermarks:
        node = Watermark(input=node, time=time, delay=delay, label=spec.name)
    return node


def _read_to_deduplicate(topic: TopicSpec) -> tuple[str, ...]:
    """Return the metadata that decides whether a record was sent before."""
    return ("_partition", "_headers", *(["_topic"] if topic.several else []))


_FROM, _OFFSET = "_sent_from", "_sent_offset"
_HEADERS, _PARTITION = Ref("_headers"), Ref("_partition")


def first_sent(node: Node, topic: TopicSpec, metadata: Collection[str]) -> Node:
    """Return a topic's rows without repeated ones, with only some of their metadata.

    A record repeats another one if it has the same sender and the same position. The sender is a query with
    its checkpoint, because a rebuild sends other records of the same positions.
    """
    # A record without a position has no offset, and is grouped by its own partition.
    sent_from: tuple[Piece, ...] = ("coalesce(sent_from(", _HEADERS, "), cast(", _PARTITION, " as string))")
    if topic.several:
        # A query can send records of the same position to several topics.
        sent_from = ("concat(", Ref("_topic"), ", ' ', ", *sent_from, ")")
    added = (
        Item(_FROM, Expression(sent_from, STRING, nullable=False, atomic=True)),
        Item(_OFFSET, Expression(("sent_offset(", _HEADERS, ")"), BIGINT, atomic=True)),
    )
    columns = [item for item in identity_items(node) if item.name not in METADATA or item.name in metadata]
    placed = Project(input=node, items=(*identity_items(node), *added))
    keys = (_FROM, _OFFSET)
    first = Dedupe(input=Repartition(input=placed, keys=keys), keys=keys, by_position=True)
    return Project(input=first, items=tuple(columns), label=topic.name)
