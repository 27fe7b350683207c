"""Defaults of fields, which schemas write as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.formats.avro.binary import round_float
from millstream.formats.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroReference,
    AvroSchema,
    AvroType,
    AvroUnion,
)
from millstream.formats.avro.values import logical_value

_BITS = {"int": 31, "long": 63}


def fits_type(default: Any, of: AvroType, names: Mapping[str, AvroFixed | AvroEnum | AvroRecord]) -> bool:
    """Whether a default, as JSON, is a value of a type."""
    match of:
        case AvroPrimitive(type="null"):
            return default is None
        case AvroPrimitive(type="boolean"):
            return isinstance(default, bool)
        case AvroPrimitive(type="int" | "long" as kind):
            limit = 2 ** _BITS[kind]
            return type(default) is int and -limit <= default < limit
        case AvroPrimitive(type="float" | "double"):
            return type(default) in {int, float}
        case AvroPrimitive(type="string"):
            return isinstance(default, str)
        case AvroPrimitive():
            return _is_bytes(default)
        case AvroFixed(size=size):
            return _is_bytes(default) and len(default) == size
        case AvroEnum(symbols=symbols):
            return default in symbols
        case AvroArray(items=items):
            return isinstance(default, list) and all(fits_type(element, items, names) for element in default)
        case AvroMap(values=values):
            return isinstance(default, dict) and all(
                fits_type(value, values, names) for value in default.values()
            )
        case AvroUnion(types=types):
            return any(fits_type(default, type_, names) for type_ in types)
        case AvroRecord(fields=fields):
            return isinstance(default, dict) and all(
                fits_type(default[f.name], f.of, names) if f.name in default else f.has_default
                for f in fields
            )
        case AvroReference(name=name):
            # A record is not known while its fields are parsed: none of their defaults is the record itself.
            return name in names and fits_type(default, names[name], names)


def _is_bytes(default: Any) -> bool:
    """Whether a text stands for bytes: each character for one."""
    return isinstance(default, str) and all(ord(character) < 256 for character in default)


def value_of(default: Any, of: AvroType, schema: AvroSchema) -> Any:
    """Return a default, which fits, as the value that a reader gets."""
    match schema.resolved(of):
        case (AvroPrimitive(type="bytes") | AvroFixed()) as scalar:
            return logical_value(default.encode("latin-1"), scalar, scalar)
        case AvroPrimitive(type="float" | "double") as scalar:
            return round_float(default, scalar.type)
        case AvroPrimitive() as scalar:
            return default if scalar.type == "null" else logical_value(default, scalar, scalar)
        case AvroEnum():
            return default
        case AvroArray(items=items):
            return [value_of(element, items, schema) for element in default]
        case AvroMap(values=values):
            return {key: value_of(value, values, schema) for key, value in default.items()}
        case AvroRecord(fields=fields):
            return {f.name: value_of(default.get(f.name, f.default), f.of, schema) for f in fields}
        case AvroUnion() as union:
            index = next(i for i, type_ in enumerate(union.types) if fits_type(default, type_, schema.names))
            value = value_of(default, union.types[index], schema)
            members = schema.members(union)
            if not schema.is_struct(union) or index not in members:
                return value
            return {f"member{n}": value if i == index else None for n, i in enumerate(members)}
