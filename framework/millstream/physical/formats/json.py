"""JSON objects."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from millstream.expressions import Piece, Ref, joined, quoted
from millstream.physical.emit.draft import BAD
from millstream.physical.formats.base import Decoded, Format, Named, described, has_times, parsed, row
from millstream.plan.nodes import Column
from millstream.types import STRING, Array, Field, Map, Row, Type

_WRITE = (
    "map('timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS')"
)
"""Spark writes milliseconds only by default; what it reads by default has microseconds, too."""


def decode(fields: Sequence[Column]) -> Decoded:
    if not fields:
        return Decoded()
    read = [replace(field, type=_as_read(field.type)) for field in fields]
    return Decoded(
        rows=parsed("from_json", read, f"map('columnNameOfCorruptRecord', '{BAD}')"),
        fields=tuple(
            _restored((Ref(f.name),), f.type, 0) if r.type != f.type else ()
            for f, r in zip(fields, read, strict=True)
        ),
        why=f"not a JSON object with {described(fields)}",
    )


def _as_read(given: Type) -> Type:
    """Return a type as `from_json` takes it: keys of a map are texts there."""
    match given:
        case Map(value=value):
            return Map(STRING, _as_read(value))
        case Array(element=element):
            return Array(_as_read(element))
        case Row(fields=fields):
            return Row(tuple(Field(f.name, _as_read(f.type)) for f in fields))
        case _:
            return given


def _restored(found: tuple[Piece, ...], given: Type, depth: int) -> tuple[Piece, ...]:
    """Return the SQL that gives back the keys of maps."""
    if _as_read(given) == given:
        return found
    each = f"e{depth}"
    match given:
        case Map(key=key, value=value):
            inner = _restored((f"{each}.value",), value, depth + 1)
            made = ("struct(cast(", f"{each}.key as {key}) as key, ", *inner, " as value)")
            return ("map_from_entries(transform(map_entries(", *found, f"), {each} -> ", *made, "))")
        case Array(element=element):
            return ("transform(", *found, f", {each} -> ", *_restored((each,), element, depth + 1), ")")
        case Row(fields=fields):
            parts: list[Piece] = []
            for field in fields:
                inner = _restored((*found, f".{quoted(field.name)}"), field.type, depth)
                parts += [", " if parts else "", *inner, f" as {quoted(field.name)}"]
            return ("if(", *found, " is null, null, struct(", *parts, "))")
        case _:
            return found


def encode(items: Sequence[Named]) -> tuple[Piece, ...]:
    """Write a row; fields that are NULL are left out, which reads back as NULL."""
    options = f", {_WRITE}" if any(has_times(each.type) for _, each in items) else ""
    return joined(("to_json(", *row(items), f"{options})"))


JSON = Format(decode, encode)
