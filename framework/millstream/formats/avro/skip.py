"""Skips values that a reader's schema does not have."""

from __future__ import annotations

from millstream.formats.avro.binary import Input
from millstream.formats.avro.types import (
    AvroType,
    Dictionary,
    Enum,
    Fixed,
    List,
    Primitive,
    Record,
    Schema,
    Union,
)


def skip(found: Input, written: AvroType, schema: Schema) -> None:
    match schema.resolved(written):
        case Primitive(type=kind):
            _skip_primitive(found, kind)
        case Fixed(size=size):
            found.take(size)
        case Enum(symbols=symbols):
            found.read_index(len(symbols), "a symbol")
        case List(items=items):
            for _ in found.items():
                skip(found, items, schema)
        case Dictionary(values=values):
            for _ in found.items():
                found.read_bytes()
                skip(found, values, schema)
        case Union(types=types):
            skip(found, types[found.read_index(len(types), "a type of the union")], schema)
        case Record(fields=fields):
            found.enter()
            for field in fields:
                skip(found, field.of, schema)
            found.leave()


def _skip_primitive(found: Input, kind: str) -> None:
    match kind:
        case "boolean":
            found.read_boolean()
        case "int":
            found.read_int()
        case "long":
            found.read_long()
        case "float":
            found.take(4)
        case "double":
            found.take(8)
        case "string" | "bytes":
            found.read_bytes()
