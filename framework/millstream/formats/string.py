"""Text as a single column: strings, and what Spark can cast from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from millstream.expressions import Piece, joined, literal
from millstream.formats import Encoding
from millstream.formats.format import Decoded, Fields, Format, Item, LocalCodec, SparkCodec
from millstream.formats.sql import TEXT, VALUE, function_call
from millstream.formats.text_values import is_read, read_text
from millstream.formats.values import encoded, single_value, text_of, utf8, value_of
from millstream.types import BINARY, INTERVAL, STRING, VARIANT, Array, Field, Map, Row, Type


def _decode_lenient(fields: Fields) -> Decoded:
    return Decoded(fields=tuple(_cast(field.type) for field in fields))


def _decode_strict(fields: Fields) -> Decoded:
    """Refuse what is not a text, or not one of a value of its type."""
    match fields:
        case [Field(type=given)] if given == STRING:
            good = joined(("coalesce(is_valid_utf8(", *TEXT, "), true)"))
            return Decoded(fields=(TEXT,), good=good, why=(literal("not valid UTF-8"),))
        case [Field(type=given)] if given != BINARY:
            return function_call("decode_text", fields)
        case _:
            return _decode_lenient(fields)


def _cast(given: Type) -> tuple[Piece, ...]:
    if given == BINARY:
        return (VALUE,)
    return joined(TEXT if given == STRING else ("cast(", *TEXT, f" as {given})"))


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    ((_, found),) = items
    return joined(("cast(", *found.pieces, " as string)"))


def _encode(value: Any, fields: Fields) -> bytes:
    found = single_value(value, fields)
    return found if isinstance(found, bytes) else encoded(text_of(found))


def _decode(strict: bool, value: bytes, fields: Fields) -> Any:
    given = fields[0].type if fields else STRING
    if given == BINARY:
        return value
    text = utf8(value)
    if strict and is_read(given):
        read_text(text, given)
    return text if given == STRING else value_of(text, given)


def format_of(encoding: Encoding) -> Format:
    strict = encoding.decoding == "strict"
    return Format(
        media_type="text/plain",
        spark=SparkCodec(_decode_strict if strict else _decode_lenient, _encode_sql),
        local=LocalCodec(partial(_decode, strict), _encode),
        single=True,
        holds=lambda given: not isinstance(given, Array | Map | Row) and given not in {INTERVAL, VARIANT},
        columns=(Field("value", STRING),),
        round_trips=lambda given: given == STRING,
    )
