"""Skips values that a reader's schema does not have."""

from __future__ import annotations

from millstream.formats.avro.binary import AvroInput
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
)


def skip_value(input_: AvroInput, written: AvroType, schema: AvroSchema) -> None:
    match schema.resolved(written):
        case AvroPrimitive(type=kind):
            _skip_primitive(input_, kind)
        case AvroFixed(size=size):
            input_.take(size)
        case AvroEnum(symbols=symbols):
            input_.read_index(len(symbols), "a symbol")
        case AvroArray(items=items):
            for _ in input_.items():
                skip_value(input_, items, schema)
        case AvroMap(values=values):
            for _ in input_.items():
                input_.read_bytes()
                skip_value(input_, values, schema)
        case AvroUnion(types=types):
            skip_value(input_, types[input_.read_index(len(types), "a type of the union")], schema)
        case AvroRecord(fields=fields):
            input_.enter()
            for field in fields:
                skip_value(input_, field.of, schema)
            input_.leave()


def _skip_primitive(input_: AvroInput, kind: str) -> None:
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
