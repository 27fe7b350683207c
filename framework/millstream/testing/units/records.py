"""Rows that a test gives become records of Kafka, and records that came out become rows."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from millstream.formats import format_of
from millstream.formats.values import from_json, text_of
from millstream.physical.values import SinkOutput
from millstream.plan.nodes import Column
from millstream.project.values import Project
from millstream.testing.units.convert import convert, convert_text
from millstream.testing.units.relations import Relations
from millstream.testing.units.values import DELETED, GivenRow, UnitTestCase
from millstream.types import BINARY, STRING, Array, Field, Map, Row, Type

START = datetime(2000, 1, 1, tzinfo=timezone.utc)
"""When the first record came, if nothing says otherwise; each next one a millisecond later."""


class RecordEncoder:
    """Makes records; offsets of a topic go on from step to step."""

    def __init__(self, test: UnitTestCase, project: Project, relations: Relations) -> None:
        self.test = test
        self.project = project
        self.relations = relations
        self._offsets: dict[tuple[str, int], int] = {}

    def records(self, relation: str, topic: str, rows: Iterable[GivenRow]) -> tuple[dict[str, Any], ...]:
        return tuple(self._record(relation, topic, row) for row in rows)

    def _record(self, relation: str, topic: str, row: GivenRow) -> dict[str, Any]:
        partition = row.about.get("_partition", 0)
        offset = self._offsets.get((relation, partition), 0)
        self._offsets[relation, partition] = offset + 1
        started = (self.test.now or START) + timedelta(milliseconds=offset)
        value = row.about["_value"] if "_value" in row.about else self._value(relation, row)
        return {
            "key": row.about["_key"] if "_key" in row.about else self._key(relation, row),
            "value": value,
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "timestamp": row.about.get("_timestamp", started),
            "headers": row.about.get("_headers"),
        }

    def _key(self, relation: str, row: GivenRow) -> bytes | None:
        source = self.project.sources.get(relation.removeprefix("source."))
        if source is None or source.key is None:
            return None
        value = next((v for k, v in row.values.items() if k.lower() == source.key.name.lower()), None)
        return value if value is None or isinstance(value, bytes) else text_of(value).encode()

    def _value(self, relation: str, row: GivenRow) -> bytes:
        topic = self.relations.catalog.topics.get(relation)
        fields = topic.fields if topic else self.relations.catalog.models[relation].columns
        names = {column.name for column in fields}
        given = {name: value for name, value in row.values.items() if name in names}
        found = [Field(column.name, column.type) for column in fields]
        return format_of(topic.format if topic else None).local.encode(_finite(given), found)


def _finite(value: Any) -> Any:
    """Write what JSON has no number for as Spark reads it."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
        case dict():
            return {name: _finite(each) for name, each in value.items()}
        case list():
            return [_finite(each) for each in value]
        case _:
            return value


def arrow_rows(rows: Iterable[GivenRow], columns: Sequence[Column], *, deletes: bool) -> tuple[Any, ...]:
    """Return rows with all columns, as Arrow takes them."""
    found = []
    for row in rows:
        made = {column.name: arrow_value(row.values.get(column.name), column.type) for column in columns}
        if deletes:
            made[DELETED] = row.about.get(DELETED, False)
        found.append(made)
    return tuple(found)


def arrow_value(value: Any, wanted: Type) -> Any:
    """Return a value as Arrow takes it: a map is a list of pairs."""
    match wanted:
        case Map() if isinstance(value, Mapping):
            return list(value.items())
        case Array(element=element) if isinstance(value, list):
            return [arrow_value(each, element) for each in value]
        case Row() if isinstance(value, Mapping):
            return {field.name: arrow_value(value[field.name], field.type) for field in wanted.fields}
        case _:
            return value


def decode_record(
    record: Mapping[str, Any], sink: SinkOutput, columns: Sequence[Column], zone: ZoneInfo
) -> Any:
    """Return the row of a record that came out; of a tombstone its keys."""
    keys = [column for column in columns if column.name in sink.keys]
    if record["value"] is None:
        return _keys(record["key"], keys, zone) | {DELETED: True}
    format_ = format_of(sink.format)
    held = format_.value_columns([column.name for column in columns], sink.keys)
    fields = [Field(column.name, column.type) for column in columns if column.name in held]
    row = format_.local.decode(record["value"], fields)
    if format_.single:
        row = _keys(record["key"], keys, zone) | {held[0]: row}
    folded = {name.lower(): value for name, value in row.items()}
    return {c.name: convert_json(folded.get(c.name.lower()), c.type, zone) for c in columns}


def _keys(key: bytes | None, keys: Sequence[Column], zone: ZoneInfo) -> dict[str, Any]:
    if key is None:
        return dict.fromkeys(column.name for column in keys)
    if len(keys) == 1 and not isinstance(keys[0].type, Array | Map | Row):
        (only,) = keys
        return {only.name: key if only.type == BINARY else convert_text(key.decode(), only.type, zone)}
    found = from_json(key)
    return {column.name: convert_json(found.get(column.name), column.type, zone) for column in keys}


def convert_json(value: Any, wanted: Type, zone: ZoneInfo) -> Any:
    """Return a value of JSON as one of a type."""
    return convert(_bytes(value, wanted), wanted, zone)


def _bytes(value: Any, wanted: Type) -> Any:
    """Decode bytes, which JSON has as base64; a text may have become a number on its way."""
    match wanted:
        case _ if wanted == BINARY and isinstance(value, str):
            return base64.b64decode(value)
        case _ if wanted == STRING and value is not None:
            return str(value)
        case Array(element=element) if isinstance(value, list):
            return [_bytes(each, element) for each in value]
        case Map(value=held) if isinstance(value, Mapping):
            return {key: _bytes(each, held) for key, each in value.items()}
        case Row() if isinstance(value, Mapping):
            return {n: _bytes(v, f.type) if (f := wanted.field(n)) else v for n, v in value.items()}
        case _:
            return value
