"""Writes Python values by a schema, which must hold them exactly."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from millstream.formats.avro.binary import double_bytes, float_bytes, long_bytes
from millstream.formats.avro.columns import contains_itself, text_type
from millstream.formats.avro.defaults import value_of
from millstream.formats.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroSchema,
    AvroType,
    AvroUnion,
    type_text,
)
from millstream.formats.avro.values import days_of, micros_of, time_of_day, unscaled_value, uuid_text
from millstream.formats.json_values import read_json
from millstream.formats.reasons import add_context, not_a
from millstream.formats.text_values import read_base64
from millstream.formats.values import UnfitError, as_mapping, encode_utf8

_BITS = {"int": 31, "long": 63}
_SPECIAL = {"NaN", "Infinity", "-Infinity"}


def write_avro(value: Any, of: AvroType, schema: AvroSchema) -> bytes:
    """Return the bytes of a value. Texts also stand for bytes, as base64, for dates, times and decimals."""
    match schema.resolved(of):
        case AvroUnion() as union:
            return _union(value, union, schema)
        case AvroPrimitive(type="null") if value is None:
            return b""
        case other if value is None:
            raise UnfitError(f"NULL, but the schema has {type_text(other)}, not a union with null")
        case AvroRecord() as record:
            return _record(value, record, schema)
        case AvroArray(items=items):
            if not isinstance(value, list | tuple):
                raise not_a(value, "an array")
            return _blocks([_within(f"[{i}]", element, items, schema) for i, element in enumerate(value)])
        case AvroMap(values=values):
            if not isinstance(value, Mapping):
                raise not_a(value, "a map")
            return _blocks(
                [_text(key) + _within(key, map_value, values, schema) for key, map_value in value.items()]
            )
        case AvroEnum(symbols=symbols) as enum:
            if value not in symbols:
                raise not_a(value, f"a symbol of {enum.name}")
            return long_bytes(symbols.index(value))
        case (AvroPrimitive() | AvroFixed()) as scalar:
            return _logical(value, scalar) if scalar.logical else _plain(value, scalar)


def _within(name: str, value: Any, of: AvroType, schema: AvroSchema) -> bytes:
    try:
        return write_avro(value, of, schema)
    except UnfitError as error:
        raise add_context(name, error) from None


def _blocks(items: list[bytes]) -> bytes:
    return (long_bytes(len(items)) if items else b"") + b"".join(items) + b"\0"


def _record(value: Any, record: AvroRecord, schema: AvroSchema) -> bytes:
    mapping = as_mapping(value)
    if isinstance(mapping, str) and contains_itself(record, schema):
        mapping = read_json(mapping, text_type(record, schema))
    if not isinstance(mapping, Mapping):
        raise not_a(value, f"a {type_text(record)}")
    folded = {str(name).lower(): field_value for name, field_value in mapping.items()}
    field_names = {field.name.lower() for field in record.fields}
    if unknown := [name for name in mapping if str(name).lower() not in field_names]:
        names = ", ".join(field.name for field in record.fields)
        raise UnfitError(f"'{unknown[0]}' is not a field of {record.name}; fields: {names}")
    parts = []
    for field in record.fields:
        key = field.name.lower()
        missing = key not in folded and field.has_default
        field_value = value_of(field.default, field.of, schema) if missing else folded.get(key)
        parts.append(_within(field.name, field_value, field.of, schema))
    return b"".join(parts)


def _union(value: Any, union: AvroUnion, schema: AvroSchema) -> bytes:
    if value is None:
        if AvroPrimitive("null") not in union.types:
            raise UnfitError(f"NULL, but the schema has a {type_text(union)}, without null")
        return long_bytes(union.types.index(AvroPrimitive("null")))
    members = schema.members(union)
    if not schema.is_struct(union):
        index = schema.largest(union)
        if index is None:
            raise not_a(value, "NULL")
        return long_bytes(index) + write_avro(value, union.types[index], schema)
    names = {f"member{n}": index for n, index in enumerate(members)}
    mapping = as_mapping(value)
    if not isinstance(mapping, Mapping) or (set(mapping) - set(names)):
        raise not_a(value, f"a mapping of one of {', '.join(names)}")
    present = [name for name, member in mapping.items() if member is not None]
    if len(present) != 1:
        raise UnfitError(f"{len(present)} of {', '.join(names)} have a value, not 1")
    (name,) = present
    index = names[name]
    return long_bytes(index) + _within(name, mapping[name], union.types[index], schema)


def _plain(value: Any, of: AvroPrimitive | AvroFixed) -> bytes:
    match of.type:
        case "boolean" if isinstance(value, bool):
            return b"\1" if value else b"\0"
        case "int" | "long" as type_:
            return long_bytes(_integer(value, type_))
        case "float" | "double" as type_:
            return _number(value, type_)
        case "string" if isinstance(value, str | UUID):
            return _text(str(value))
        case "bytes":
            content = _bytes(value)
            return long_bytes(len(content)) + content
        case "fixed":
            assert isinstance(of, AvroFixed)
            content = _bytes(value)
            if len(content) != of.size:
                raise UnfitError(f"{len(content)} bytes are not {type_text(of)}")
            return content
        case _:
            raise not_a(value, f"a {type_text(of)}")


def _logical(value: Any, of: AvroPrimitive | AvroFixed) -> bytes:
    match of.logical:
        case "date":
            return long_bytes(days_of(_date(value)))
        case "time-millis" | "time-micros":
            return long_bytes(time_of_day(_integer(value, of.type), of.logical))
        case "uuid":
            return _text(uuid_text(str(value)))
        case "decimal":
            return _decimal(value, of)
        case logical:
            micros = micros_of(_timestamp(value))
            if not logical.endswith("-millis"):
                return long_bytes(micros)
            if micros % 1000:
                raise not_a(value, "a time in whole milliseconds")
            return long_bytes(micros // 1000)


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise not_a(value, "a string")
    content = encode_utf8(value)
    return long_bytes(len(content)) + content


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return read_base64(value)
    if not isinstance(value, bytes | bytearray | memoryview):
        raise not_a(value, "bytes")
    return bytes(value)


def _integer(value: Any, type_: str) -> int:
    limit = 2 ** _BITS[type_]
    if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
        raise not_a(value, "an int" if type_ == "int" else "a long")
    return value


def _number(value: Any, type_: str) -> bytes:
    if isinstance(value, bool) or not (isinstance(value, int | float | Decimal) or value in _SPECIAL):
        raise not_a(value, f"a {type_}")
    try:
        number = float(value)
    except OverflowError:
        raise not_a(value, f"a {type_}") from None
    if isinstance(value, int) and number != value:
        raise not_a(value, f"a {type_}")
    return float_bytes(number) if type_ == "float" else double_bytes(number)


def _decimal(value: Any, of: AvroPrimitive | AvroFixed) -> bytes:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
            raise not_a(value, f"a {type_text(of)}")
        number = unscaled_value(Decimal(str(value)), of)
    except InvalidOperation:
        raise not_a(value, f"a {type_text(of)}") from None
    if isinstance(of, AvroFixed):
        return number.to_bytes(of.size, "big", signed=True)
    content = number.to_bytes(
        ((number if number >= 0 else ~number).bit_length() + 8) // 8, "big", signed=True
    )
    return long_bytes(len(content)) + content


def _date(value: Any) -> date:
    match value:
        case datetime():
            raise not_a(value, "a date")
        case date():
            return value
        case str():
            try:
                return date.fromisoformat(value)
            except ValueError:
                pass
    raise not_a(value, "a date")


def _timestamp(value: Any) -> datetime:
    match value:
        case datetime():
            return value
        case str() if "-" in value:
            try:
                return datetime.fromisoformat(value.replace("Z", "+00:00"))
            except ValueError:
                pass
    raise not_a(value, "a timestamp")
