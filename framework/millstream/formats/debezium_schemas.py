"""The schemas of Debezium's envelopes in Avro, which name the meanings of columns in words of Kafka Connect.

An Avro library ignores these names: without them, a time is a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from millstream.core.types import Field
from millstream.formats.avro.column_dependencies import read_dependencies
from millstream.formats.avro.columns import columns_of
from millstream.formats.avro.parse import parse_schema, schema_essence
from millstream.formats.avro.references import self_contained
from millstream.formats.changes import AFTER
from millstream.formats.format import ReadSchema, SchemaError, SchemaFiles, SchemaLanguage

BEFORE = "before"
VARIABLE_SCALE = "io.debezium.data.VariableScaleDecimal"
"""A record with the digits of a number and how many of these follow the point."""
NANOS = "io.debezium.time.NanoTimestamp"
TIMES_AS_TEXT = ("io.debezium.time.ZonedTimestamp", "io.debezium.time.IsoTimestamp")
DAYS_AS_TEXT = "io.debezium.time.IsoDate"
_MOST_DIGITS = 38
_LOGICAL = {
    ("int", "io.debezium.time.Date"): "date",
    ("long", "io.debezium.time.Timestamp"): "timestamp-millis",
    ("long", "io.debezium.time.MicroTimestamp"): "timestamp-micros",
}
_TIMESTAMP = {"type": "long", "logicalType": "timestamp-micros"}
_SHOWN = {
    NANOS: _TIMESTAMP,
    **dict.fromkeys(TIMES_AS_TEXT, _TIMESTAMP),
    DAYS_AS_TEXT: {"type": "int", "logicalType": "date"},
    VARIABLE_SCALE: "string",
}
"""What a column is, if Avro has no logical type for how it is written."""


def with_logical_types(text: str) -> str:
    """Return a schema in which Avro's logical types say what Debezium's names mean; values stay the same."""
    return msgspec.json.encode(_with_logical_types(msgspec.json.decode(text))).decode()


def _with_logical_types(definition: Any) -> Any:
    match definition:
        case list():
            return [_with_logical_types(part) for part in definition]
        case dict():
            parts = {
                name: part if name in {"default", "connect.default"} else _with_logical_types(part)
                for name, part in definition.items()
            }
            logical = _LOGICAL.get((str(parts.get("type")), str(parts.get("connect.name"))))
            if logical is not None:
                parts["logicalType"] = logical
            if parts.get("logicalType") == "decimal" and parts.get("precision", 0) > _MOST_DIGITS:
                # The converter writes 64 if the database does not limit the digits.
                parts["precision"] = _MOST_DIGITS
            return parts
        case _:
            return definition


def _as_shown(definition: Any) -> Any:
    """Return a schema of the columns that a project sees."""
    match definition:
        case list():
            return [_as_shown(part) for part in definition]
        case {"connect.name": str(name)} if name in _SHOWN:
            return _SHOWN[name]
        case dict():
            # A default is of the type that is written.
            return {name: _as_shown(part) for name, part in definition.items() if name != "default"}
        case str() if definition == VARIABLE_SCALE:
            return "string"
        case _:
            return definition


def definition_of_row(definition: Any) -> dict[str, Any]:
    """Return the record with the columns of a row, from the schema of a change; raise SchemaError."""
    fields = {field["name"]: field["type"] for field in definition["fields"]} if is_record(definition) else {}
    if missing := {BEFORE, AFTER, "op"} - fields.keys():
        name = f"'{min(missing)}'"
        raise SchemaError("", f"it is not that of a change of Debezium: it has no field {name}")
    rows = (branch for name in (BEFORE, AFTER) for branch in branches(fields[name]) if is_record(branch))
    row = next(rows, None)
    if row is None:
        raise SchemaError(AFTER, "it is not a record")
    return {"namespace": definition.get("namespace", ""), **row}


def is_record(definition: Any) -> bool:
    return isinstance(definition, Mapping) and definition.get("type") == "record"


def branches(definition: Any) -> Iterator[Any]:
    yield from definition if isinstance(definition, list) else [definition]


def _read(files: SchemaFiles) -> ReadSchema:
    others = {name: text for name, text in files.texts.items() if name != files.path and not files.folders}
    text = self_contained(files.texts[files.path], others)
    parse_schema(text)
    essence = with_logical_types(schema_essence(text))
    definition = msgspec.json.decode(essence)
    if files.key:
        return _read_key(essence, definition)
    return ReadSchema(_columns(definition_of_row(definition)), essence)


def _read_key(essence: str, definition: Any) -> ReadSchema:
    """Return the value of the only column of a key, or a struct of all."""
    if not is_record(definition):
        raise SchemaError("", "it is not that of a key of Debezium: it is not a record")
    columns = _columns(definition)
    if len(columns) == 1:
        return ReadSchema(columns, essence, single=True)
    row = ReadSchema(columns).type
    return ReadSchema((Field("key", row, nullable=False),), essence, single=True)


def _columns(row: dict[str, Any]) -> tuple[Field, ...]:
    return columns_of(parse_schema(msgspec.json.encode(_as_shown(row)).decode()))


def _dependencies(text: str, message: str, column: str) -> Mapping[str, str]:
    definition = msgspec.json.decode(text)
    with suppress(SchemaError):  # a key has no such parts
        definition = definition_of_row(definition)
    return read_dependencies(msgspec.json.encode(definition).decode(), message, column)


LANGUAGE = SchemaLanguage(
    "Debezium's Avro", ".avsc", _read, required=False, by_writer=True, reading=_dependencies
)
