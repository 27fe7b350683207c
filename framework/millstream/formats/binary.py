"""Unchanged bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.core.expressions import Piece, join_pieces
from millstream.core.types import BINARY, Field
from millstream.formats.format import DecodedSql, Fields, Format, Item, LocalCodec, SparkCodec
from millstream.formats.registry import Encoding
from millstream.formats.sql import VALUE
from millstream.formats.values import UnfitError, encode_utf8, single_value


def _decode_sql(fields: Fields) -> DecodedSql:
    return DecodedSql(fields=tuple((VALUE,) for _ in fields))


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    ((_, expression),) = items
    return join_pieces(("cast(", *expression.pieces, " as binary)"))


def _encode(value: Any, fields: Fields) -> bytes:
    content = single_value(value, fields)
    match content:
        case bytes() | bytearray() | memoryview():
            return bytes(content)
        case str():
            return encode_utf8(content)
        case _:
            raise UnfitError(f"expected bytes, not {type(content).__name__}")


def _decode(value: bytes, fields: Fields) -> Any:  # noqa: ARG001
    return value


_FORMAT = Format(
    media_type="application/octet-stream",
    spark=SparkCodec(_decode_sql, _encode_sql),
    local=LocalCodec(_decode, _encode),
    single=True,
    holds=lambda type_: type_ == BINARY,
    columns=(Field("value", BINARY),),
    round_trips=lambda type_: type_ == BINARY,
)


def format_of(encoding: Encoding) -> Format:  # noqa: ARG001 - has no variants
    return _FORMAT
