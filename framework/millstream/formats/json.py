"""JSON objects; a text value is already JSON."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from millstream.expressions import Piece, Ref, joined, quoted
from millstream.formats import Encoding, Framing
from millstream.formats.format import (
    Decoded,
    Fields,
    Format,
    Item,
    LocalCodec,
    ReadSchema,
    SchemaFiles,
    SchemaLanguage,
    SparkCodec,
)
from millstream.formats.framing import framed
from millstream.formats.sql import BAD, TIMES, column_list, function_call, has_times, parser_call, row
from millstream.formats.values import encoded, from_json, to_json
from millstream.types import (
    INTERVAL,
    NULL,
    STRING,
    UNKNOWN,
    VARIANT,
    Array,
    Field,
    Map,
    Row,
    Type,
    types_within,
)

_LOST = frozenset((INTERVAL, VARIANT, NULL, UNKNOWN))


def _decode_strict(framing: Framing, fields: Fields) -> Decoded:
    if not fields or not all(_round_trips(field.type) for field in fields):
        return _decode_lenient(fields)
    read = [Field(field.name, _as_read(field.type), field.nullable) for field in fields]
    return function_call("decode_json", read, _all_restored(fields, read), (framing,))


def _decode_lenient(fields: Fields) -> Decoded:
    if not fields:
        return Decoded()
    read = [Field(field.name, _as_read(field.type), field.nullable) for field in fields]
    return Decoded(
        rows=parser_call("from_json", read, f"map('columnNameOfCorruptRecord', '{BAD}')"),
        fields=_all_restored(fields, read),
        why=f"not a JSON object with {column_list(fields)}",
    )


def _all_restored(fields: Fields, read: Fields) -> tuple[tuple[Piece, ...], ...]:
    return tuple(
        _restored((Ref(f.name),), f.type, 0) if r.type != f.type else ()
        for f, r in zip(fields, read, strict=True)
    )


def _as_read(given: Type) -> Type:
    """Return a type for `from_json`, which requires texts as keys of maps."""
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
    """Return SQL that casts the keys of maps back to their type."""
    if _as_read(given) == given:
        return found
    each = f"e{depth}"
    match given:
        case Map(key=key, value=value):
            inner = _restored((f"{each}.value",), value, depth + 1)
            entry = ("struct(cast(", f"{each}.key as {key}) as key, ", *inner, " as value)")
            return ("map_from_entries(transform(map_entries(", *found, f"), {each} -> ", *entry, "))")
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


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    """Write a row; NULL fields are omitted, which reads back as NULL."""
    options = f", map({TIMES})" if any(has_times(each.type) for _, each in items) else ""
    return joined(("to_json(", *row(items), f"{options})"))


def _encode(value: Any, fields: Fields) -> bytes:  # noqa: ARG001 - additional fields are harmless
    return encoded(value) if isinstance(value, str) else to_json(value)


def _decode(value: bytes, fields: Fields) -> Any:  # noqa: ARG001
    return from_json(value)


def _round_trips(given: Type) -> bool:
    return _LOST.isdisjoint(types_within(given))


def _read_schema(files: SchemaFiles) -> ReadSchema:
    from millstream.formats.json_schema import columns_of

    return ReadSchema(tuple(columns_of(files.texts[files.path], files.texts)))


def format_of(encoding: Encoding) -> Format:
    strict = partial(_decode_strict, encoding.framing)
    return Format(
        media_type="application/json",
        spark=SparkCodec(strict if encoding.decoding == "strict" else _decode_lenient, _encode_sql),
        local=framed(LocalCodec(_decode, _encode), encoding),
        round_trips=_round_trips,
        omits_null=True,
        escape="\\",
        schemas=SchemaLanguage("JSON Schema", ".json", _read_schema, required=False),
    )
