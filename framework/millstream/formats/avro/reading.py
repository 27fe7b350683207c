"""What Avro makes of a field of old records: its default, its aliases and everything within its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import msgspec

from millstream.formats.avro.parse import parse_schema
from millstream.formats.avro.types import AvroType, Dictionary, List, Named, Record, Schema, Union
from millstream.formats.reading import PRECEDING, SCHEMA, digest

_parsed = cache(parse_schema)


def reading(text: str, message: str, column: str) -> Mapping[str, str]:  # noqa: ARG001 - a schema has one record
    schema = _parsed(text)
    if not column or not isinstance(schema.root, Record):
        return {SCHEMA: digest(_parts(schema, schema.root))}
    preceding: list[object] = []
    for field in schema.root.fields:
        if field.name.lower() == column.lower():
            default = msgspec.json.encode(field.default).decode() if field.has_default else "none"
            return {
                "default": default,
                "aliases": ", ".join(sorted(field.aliases)) or "none",
                SCHEMA: digest(_parts(schema, field.of)),
                PRECEDING: digest(preceding),
            }
        preceding += _parts(schema, field.of)
    return {}


def _parts(schema: Schema, type_: AvroType) -> list[object]:
    """Return a type with all that it names."""
    return list(_within(schema, type_, set()))


def _within(schema: Schema, type_: AvroType, seen: set[str]) -> Iterator[object]:
    yield type_
    match type_:
        case Named(name=name) if name not in seen:
            seen.add(name)
            yield from _within(schema, schema.names[name], seen)
        case List(items=inner) | Dictionary(values=inner):
            yield from _within(schema, inner, seen)
        case Union(types=types):
            for branch in types:
                yield from _within(schema, branch, seen)
        case Record(fields=fields):
            for field in fields:
                yield from _within(schema, field.of, seen)
