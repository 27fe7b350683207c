"""What Avro makes of a field of old records: its default, its aliases and everything within its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import msgspec

from millstream.formats.avro.parse import parse_schema
from millstream.formats.avro.types import (
    AvroArray,
    AvroMap,
    AvroRecord,
    AvroReference,
    AvroSchema,
    AvroType,
    AvroUnion,
)
from millstream.formats.column_dependencies import PRECEDING, SCHEMA, digest_json

_parsed = cache(parse_schema)


def read_dependencies(text: str, message: str, column: str) -> Mapping[str, str]:  # noqa: ARG001 - a schema has one record
    schema = _parsed(text)
    if not column or not isinstance(schema.root, AvroRecord):
        return {SCHEMA: digest_json(_parts(schema, schema.root))}
    preceding: list[object] = []
    for field in schema.root.fields:
        if field.name.lower() == column.lower():
            default = msgspec.json.encode(field.default).decode() if field.has_default else "none"
            return {
                "default": default,
                "aliases": ", ".join(sorted(field.aliases)) or "none",
                SCHEMA: digest_json(_parts(schema, field.of)),
                PRECEDING: digest_json(preceding),
            }
        preceding += _parts(schema, field.of)
    return {}


def _parts(schema: AvroSchema, type_: AvroType) -> list[object]:
    """Return a type with all that it names."""
    return list(_within(schema, type_, set()))


def _within(schema: AvroSchema, type_: AvroType, seen: set[str]) -> Iterator[object]:
    yield type_
    match type_:
        case AvroReference(name=name) if name not in seen:
            seen.add(name)
            yield from _within(schema, schema.names[name], seen)
        case AvroArray(items=inner) | AvroMap(values=inner):
            yield from _within(schema, inner, seen)
        case AvroUnion(types=types):
            for branch in types:
                yield from _within(schema, branch, seen)
        case AvroRecord(fields=fields):
            for field in fields:
                yield from _within(schema, field.of, seen)
