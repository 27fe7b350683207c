"""Maps in JSON: their keys are texts, and become what they are after a value is read."""

from __future__ import annotations

from millstream.core.expressions import Piece, Ref, quote_name
from millstream.core.types import STRING, Array, Field, Map, Row, Type
from millstream.formats.format import Fields


def all_restored(fields: Fields, read: Fields) -> tuple[tuple[Piece, ...], ...]:
    return tuple(
        _restored((Ref(f.name),), f.type, 0) if r.type != f.type else ()
        for f, r in zip(fields, read, strict=True)
    )


def as_read(type_: Type) -> Type:
    """Return a type for `from_json`, which requires texts as keys of maps."""
    match type_:
        case Map(value=value):
            return Map(STRING, as_read(value))
        case Array(element=element):
            return Array(as_read(element))
        case Row(fields=fields):
            return Row(tuple(Field(f.name, as_read(f.type)) for f in fields))
        case _:
            return type_


def _restored(pieces: tuple[Piece, ...], type_: Type, depth: int) -> tuple[Piece, ...]:
    """Return SQL that casts the keys of maps back to their type."""
    if as_read(type_) == type_:
        return pieces
    variable = f"e{depth}"
    match type_:
        case Map(key=key, value=value):
            inner = _restored((f"{variable}.value",), value, depth + 1)
            entry = ("struct(cast(", f"{variable}.key as {key}) as key, ", *inner, " as value)")
            return ("map_from_entries(transform(map_entries(", *pieces, f"), {variable} -> ", *entry, "))")
        case Array(element=element):
            return (
                "transform(",
                *pieces,
                f", {variable} -> ",
                *_restored((variable,), element, depth + 1),
                ")",
            )
        case Row(fields=fields):
            parts: list[Piece] = []
            for field in fields:
                inner = _restored((*pieces, f".{quote_name(field.name)}"), field.type, depth)
                parts += [", " if parts else "", *inner, f" as {quote_name(field.name)}"]
            return ("if(", *pieces, " is null, null, struct(", *parts, "))")
        case _:
            return pieces
