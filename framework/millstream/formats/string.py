"""Text as a single column: strings, and what Spark can cast from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.core.types import BINARY, INTERVAL, STRING, VARIANT, Array, Field, Map, Row, Type
from millstream.formats.format import DecodedSql, Fields, Format, Item, LocalCodec, SparkCodec
from millstream.formats.registry import Encoding
from millstream.formats.sql import TEXT, VALUE, function_call
from millstream.formats.text_values import is_read, read_text
from millstream.formats.values import decode_utf8, encode_utf8, single_value, text_of, value_of


def _decode_lenient(fields: Fields) -> DecodedSql:
    return DecodedSql(fields=tuple(_cast(field.type) for field in fields))


def _decode_strict(fields: Fields) -> DecodedSql:
    """Refuse what is not a text, or not one of a value of its type."""
    match fields:
        case [Field(type=type_)] if type_ == STRING:
            good = join_pieces(("coalesce(is_valid_utf8(", *TEXT, "), true)"))
            return DecodedSql(fields=(TEXT,), good=good, why=(sql_literal("not valid UTF-8"),))
        case [Field(type=type_)] if type_ != BINARY:
            return function_call("decode_text", fields)
        case _:
            return _decode_lenient(fields)


def _cast(type_: Type) -> tuple[Piece, ...]:
    if type_ == BINARY:
        return (VALUE,)
    return join_pieces(TEXT if type_ == STRING else ("cast(", *TEXT, f" as {type_})"))


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    ((_, expression),) = items
    return join_pieces(("cast(", *expression.pieces, " as string)"))


def _encode(value: Any, fields: Fields) -> bytes:
    single = single_value(value, fields)
    return single if isinstance(single, bytes) else encode_utf8(text_of(single))


def _decode(strict: bool, value: bytes, fields: Fields) -> Any:
    type_ = fields[0].type if fields else STRING
    if type_ == BINARY:
        return value
    text = decode_utf8(value)
    if strict and is_read(type_):
        read_text(text, type_)
    return text if type_ == STRING else value_of(text, type_)


def format_of(encoding: Encoding) -> Format:
    strict = encoding.decoding == "strict"
    return Format(
        media_type="text/plain",
        spark=SparkCodec(_decode_strict if strict else _decode_lenient, _encode_sql),
        local=LocalCodec(partial(_decode, strict), _encode),
        single=True,
        holds=lambda type_: not isinstance(type_, Array | Map | Row) and type_ not in {INTERVAL, VARIANT},
        columns=(Field("value", STRING),),
        round_trips=lambda type_: type_ == STRING,
    )
