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


def skip(input_: Input, written: AvroType, schema: Schema) -> None:
    match schema.resolved(written):
        case Primitive(type=kind):
            _skip_primitive(input_, kind)
        case Fixed(size=size):
            input_.take(size)
        case Enum(symbols=symbols):
            input_.read_index(len(symbols), "a symbol")
        case List(items=items):
            for _ in input_.items():
                skip(input_, items, schema)
        case Dictionary(values=values):
            for _ in input_.items():
                input_.read_bytes()
                skip(input_, values, schema)
        case Union(types=types):
            skip(input_, types[input_.read_index(len(types), "a type of the union")], schema)
        case Record(fields=fields):
            input_.enter()
            for field in fields:
                skip(input_, field.of, schema)
            input_.leave()


def _skip_primitive(input_: Input, kind: str) -> None:
    match kind:
        case "boolean":
            input_.read_boolean()
        case "int":
            input_.read_int()
        case "long":
            input_.read_long()
        case "float":
            input_.take(4)
        case "double":
            input_.take(8)
        case "string" | "bytes":
            input_.read_bytes()
