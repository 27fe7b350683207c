"""Encodes the rows of a test as Kafka records, and decodes records of the output."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import BINARY, STRING, Array, Field, Map, Row, Type
from millstream.formats.keys import KeyFormat, written_key
from millstream.formats.registry import DEFAULT, KEY, Encoding, format_of
from millstream.formats.values import UnfitError, text_of
from millstream.kafka.keys import key_columns
from millstream.outputs.kinds import Sink
from millstream.plan.nodes import Column
from millstream.project.values import Project
from millstream.testing.units.convert import convert_text, convert_value
from millstream.testing.units.relations import UnitRelations
from millstream.testing.units.schema_ids import with_written_schema
from millstream.testing.units.values import DELETED, GivenRow, UnitTestCase

START = datetime(2000, 1, 1, tzinfo=timezone.utc)
"""The default timestamp of the first record; each following record is a millisecond later."""


class RecordEncoder:
    """Encodes rows as records; the offsets of a topic continue from step to step."""

    def __init__(self, test: UnitTestCase, project: Project, relations: UnitRelations) -> None:
        self.test = test
        self.project = project
        self.relations = relations
        self._offsets: dict[tuple[NodeId, str, int], int] = {}

    def records(self, relation: NodeId, topic: str, rows: Iterable[GivenRow]) -> tuple[dict[str, Any], ...]:
        source = self.project.topic(relation)
        if source is not None and source.pattern:
            topic = source.name
        try:
            return tuple(self._record(relation, topic, row) for row in rows)
        except UnfitError as error:
            message = f"a row of {relation.name} can't be encoded: {error}"
            remedy = "give the bytes of the record instead: `_value: …`"
            raise MillstreamError(self.test.diagnostic("MS651", message, remedy)) from None

    def _record(self, relation: NodeId, topic: str, row: GivenRow) -> dict[str, Any]:
        partition = row.metadata.get("_partition", 0)
        topic = row.metadata.get("_topic", topic)
        offset = self._offsets.get((relation, topic, partition), 0)
        self._offsets[relation, topic, partition] = offset + 1
        timestamp = (self.test.now or START) + timedelta(milliseconds=offset)
        value = row.metadata["_value"] if "_value" in row.metadata else self._value(relation, row)
        value = None if row.metadata.get(DELETED) else value
        return {
            "key": row.metadata["_key"] if "_key" in row.metadata else self._key(relation, row),
            "value": value,
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "timestamp": row.metadata.get("_timestamp", timestamp),
            "headers": row.metadata.get("_headers"),
        }

    def _key(self, relation: NodeId, row: GivenRow) -> bytes | None:
        source = self.project.topic(relation)
        if source is None or source.key is None:
            return None
        by_name = {name.lower(): value for name, value in row.values.items()}
        values = [by_name.get(name.lower()) for name in source.key.columns]
        if not any(value is not None for value in values):
            return None
        value = dict(zip(source.key.parts, values, strict=True)) if source.key.parts else values[0]
        return KeyFormat(source.key.format, source.key.type).encode(_finite(value))

    def _value(self, relation: NodeId, row: GivenRow) -> bytes | None:
        catalog = self.relations.catalog
        topic = catalog.topics.get(relation)
        fields: Sequence[Column | Field] = topic.fields if topic else catalog.models[relation].columns
        fields = (*fields, *format_of(self._encoding(relation)).of_change, *self._key_columns(relation))
        nullable = {column.name: column.nullable for column in fields}
        # A column that the test leaves out, and that can't be NULL, is left out of the value as well.
        values = {n: v for n, v in row.values.items() if n in nullable and (v is not None or nullable[n])}
        typed = [Field(column.name, column.type) for column in fields]
        return format_of(self._encoding(relation)).local.encode(_finite(values), typed)

    def _key_columns(self, relation: NodeId) -> Iterator[Field]:
        source = self.project.topic(relation)
        for column in key_columns(source) if source else ():
            yield Field(column.name, column.type or STRING, column.nullable)

    def _encoding(self, relation: NodeId) -> Encoding:
        catalog = self.relations.catalog
        if topic := catalog.topics.get(relation):
            return topic.format
        return dict(catalog.models[relation].materialization.encodings).get("value", DEFAULT)


def _finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON lacks, by the texts that Spark reads."""
    match value:
        case float() if not math.isfinite(value):
            return text_of(value)
        case dict():
            return {name: _finite(inner) for name, inner in value.items()}
        case list():
            return [_finite(inner) for inner in value]
        case _:
            return value


def arrow_rows(rows: Iterable[GivenRow], columns: Sequence[Column], *, deletes: bool) -> tuple[Any, ...]:
    """Return rows with all columns, as values for Arrow."""
    converted = []
    for row in rows:
        values = {column.name: arrow_value(row.values.get(column.name), column.type) for column in columns}
        if deletes:
            values[DELETED] = row.metadata.get(DELETED, False)
        converted.append(values)
    return tuple(converted)


def arrow_value(value: Any, type_: Type) -> Any:
    """Return a value for Arrow, where a map is a list of pairs."""
    match type_:
        case Map() if isinstance(value, Mapping):
            return list(value.items())
        case Array(element=element) if isinstance(value, list):
            return [arrow_value(inner, element) for inner in value]
        case Row() if isinstance(value, Mapping):
            return {field.name: arrow_value(value.get(field.name), field.type) for field in type_.fields}
        case _:
            return value


def decode_record(
    record: Mapping[str, Any], sink: Sink, columns: Sequence[Column], zone: ZoneInfo, *, deletes: bool
) -> Any:
    """Return the row of a record. Without a value, its keys are deleted, or its other columns are NULL."""
    keys = [column for column in columns if column.name in sink.keys]
    if record["value"] is None:
        others = {DELETED: True} if deletes else {column.name: None for column in columns}
        return others | _keys(record["key"], keys, sink, zone)
    format_ = format_of(with_written_schema(sink.encoding))
    names = [column.name for column in columns if column.name not in sink.key_only]
    in_value = format_.value_columns(names, sink.keys)
    fields = [Field(column.name, column.type) for column in columns if column.name in in_value]
    row = format_.local.decode(record["value"], fields)
    row = {in_value[0]: row} if format_.single else row
    if len(in_value) < len(columns):
        row = _keys(record["key"], keys, sink, zone) | row
    folded = {name.lower(): value for name, value in row.items()}
    return {c.name: convert_json(folded.get(c.name.lower()), c.type, zone) for c in columns}


def sent_headers(record: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the headers that a model gives a record, without those that Millstream adds."""
    headers = {header["key"]: header["value"] for header in record.get("headers") or ()}
    return {
        name: None if value is None else value.decode(errors="replace")
        for name, value in headers.items()
        if not name.startswith("millstream.")
    }


def _keys(key: bytes | None, keys: Sequence[Column], sink: Sink, zone: ZoneInfo) -> dict[str, Any]:
    if key is None:
        return dict.fromkeys(column.name for column in keys)
    encoding = sink.key_encoding and with_written_schema(sink.key_encoding)
    key_format = written_key(encoding, [Field(column.name, column.type) for column in keys])
    if key_format.encoding.name == KEY.name and key_format.type != BINARY:
        (column,) = keys
        return {column.name: convert_text(key.decode(), column.type, zone)}
    decoded = key_format.decode(key)
    values = {keys[0].name: decoded} if key_format.type == keys[0].type else decoded
    return {column.name: convert_json(values.get(column.name), column.type, zone) for column in keys}


def convert_json(value: Any, type_: Type, zone: ZoneInfo) -> Any:
    return convert_value(_bytes(value, type_), type_, zone)


def _bytes(value: Any, type_: Type) -> Any:
    """Decode bytes, which are base64 in JSON; a text may have become a number."""
    match type_:
        case _ if type_ == BINARY and isinstance(value, str):
            return base64.b64decode(value)
        case _ if type_ == STRING and value is not None:
            return str(value)
        case Array(element=element) if isinstance(value, list):
            return [_bytes(inner, element) for inner in value]
        case Map(value=held) if isinstance(value, Mapping):
            return {key: _bytes(inner, held) for key, inner in value.items()}
        case Row() if isinstance(value, Mapping):
            return {n: _bytes(v, f.type) if (f := type_.field(n)) else v for n, v in value.items()}
        case _:
            return value
