"""Changes of rows as Debezium's connectors write them in Avro, plain or framed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal as Number
from functools import cache
from typing import Any

import msgspec

from millstream.core.types import TIMESTAMP
from millstream.formats.avro.codec import AvroEncoding, local_codec
from millstream.formats.changes import AFTER, CREATED, DELETED
from millstream.formats.debezium_schemas import (
    BEFORE,
    NANOS,
    TIMES_AS_TEXT,
    VARIABLE_SCALE,
    branches,
    definition_of_row,
    is_record,
)
from millstream.formats.format import DecodedSql, Fields, LocalCodec
from millstream.formats.registry import Encoding
from millstream.formats.sql import function_call
from millstream.formats.text_values import read_time
from millstream.formats.values import UnfitError

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_EMPTY = {"string": "", "int": 0, "long": 0, "float": 0.0, "double": 0.0, "boolean": False, "bytes": b""}


def decode_sql(encoding: Encoding, fields: Fields) -> DecodedSql:
    return function_call("decode_debezium_avro", fields, (), _settings(encoding))


def decode_key_sql(encoding: Encoding, fields: Fields) -> DecodedSql:
    return function_call("decode_debezium_avro_key", fields, (), _settings(encoding))


def _settings(encoding: Encoding) -> tuple[str, str, str]:
    return encoding.schema, encoding.framing, _as_avro(encoding).written


def _as_avro(encoding: Encoding) -> AvroEncoding:
    writers = tuple((writer.id, writer.schema) for writer in encoding.writers)
    return AvroEncoding(encoding.schema, encoding.framing, "", writers, encoding.schema_id, encoding.subject)


def codec_of_changes(encoding: Encoding) -> LocalCodec:
    avro = local_codec(_as_avro(encoding))

    def encode(value: Any, fields: Fields) -> bytes | None:
        envelope = msgspec.json.decode(encoding.schema)
        return avro.encode(_filled(_change(value, definition_of_row(envelope)), envelope), fields)

    return LocalCodec(avro.decode, encode)


def codec_of_keys(encoding: Encoding) -> LocalCodec:
    avro = local_codec(_as_avro(encoding))

    @cache
    def definition() -> Any:
        return msgspec.json.decode(encoding.schema)

    def decode(value: bytes, fields: Fields) -> Any:
        columns = avro.decode(value, fields)
        return next(iter(columns.values())) if len(columns) == 1 else columns

    def encode(key: Any, fields: Fields) -> bytes | None:
        if isinstance(key, Mapping) and len(key) == 1 and len(definition()["fields"]) > 1:
            (key,) = key.values()
        elif not isinstance(key, Mapping):
            key = {definition()["fields"][0]["name"]: key}
        elif len(definition()["fields"]) == 1:
            key = {definition()["fields"][0]["name"]: next(iter(key.values()))}
        return avro.encode(_written_row(key, definition()), fields)

    return LocalCodec(decode, encode)


def _change(value: Any, row: dict[str, Any]) -> dict[str, Any]:
    """Return a change of a row: with `_op`, or `c`. A whole change stays as it is."""
    if not isinstance(value, Mapping):
        raise UnfitError(f"expected a mapping of columns, not {type(value).__name__}")
    names = {field["name"] for field in row["fields"]}
    if "op" in value and "op" not in names:
        return dict(value)
    columns = {name: part for name, part in value.items() if not name.startswith("_") or name in names}
    change = {name.removeprefix("_"): part for name, part in value.items() if name not in columns}
    op = change.pop("op", None) or CREATED
    deleted = op == DELETED
    written = _written_row(columns, row)
    return {**change, "op": op, BEFORE: written if deleted else None, AFTER: None if deleted else written}


def _written_row(columns: Mapping[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    types = {field["name"].lower(): field["type"] for field in row["fields"]}
    return {name: _written(part, types.get(name.lower())) for name, part in columns.items()}


def _written(value: Any, definition: Any) -> Any:
    """Return the value of a column as it is written; Avro's logical types are left to Avro."""
    type_ = next((branch for branch in branches(definition) if branch != "null"), None)
    if value is None or not isinstance(type_, Mapping):
        return value
    match type_.get("connect.name"):
        case name if name == VARIABLE_SCALE:
            sign, digits, exponent = Number(str(value)).as_tuple()
            scale = -int(exponent)
            unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
            size = unscaled.bit_length() // 8 + 1
            return {"scale": scale, "value": unscaled.to_bytes(size, "big", signed=True)}
        case name if name == NANOS:
            return (_time(value) - _EPOCH) // timedelta(microseconds=1) * 1000
        case name if name in TIMES_AS_TEXT:
            return _time(value).isoformat().replace("+00:00", "Z")
    return value


def _time(value: Any) -> datetime:
    time = value if isinstance(value, datetime) else read_time(str(value), TIMESTAMP)
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _filled(value: Mapping[str, Any] | None, definition: Any) -> dict[str, Any]:
    """Return a record with the fields that must not be NULL, besides those of a row."""
    filled = dict(value or {})
    for field in definition["fields"]:
        name, types = field["name"], list(branches(field["type"]))
        if name in {BEFORE, AFTER} or "default" in field:
            continue
        current, (first, *_) = filled.get(name), types
        if is_record(first) and "null" not in types:
            filled[name] = _filled(current, first)
        elif current is None and "null" not in types:
            filled[name] = _EMPTY.get(first["type"] if isinstance(first, Mapping) else first)
    return filled
