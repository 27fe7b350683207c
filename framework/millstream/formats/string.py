"""Text as a single column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.expressions import Piece, joined
from millstream.formats import Encoding
from millstream.formats.format import Decoded, Fields, Format, Item, LocalCodec, SparkCodec
from millstream.formats.sql import VALUE
from millstream.formats.values import encoded, single_value, text_of, utf8, value_of
from millstream.types import STRING, Field


def _decode_sql(fields: Fields) -> Decoded:
    def cast(field: Field) -> tuple[Piece, ...]:
        text: tuple[Piece, ...] = ("cast(", VALUE, " as string)")
        return text if field.type == STRING else ("cast(", *text, f" as {field.type})")

    return Decoded(fields=tuple(joined(cast(field)) for field in fields))


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    ((_, found),) = items
    return joined(("cast(", *found.pieces, " as string)"))


def _encode(value: Any, fields: Fields) -> bytes:
    return encoded(text_of(single_value(value, fields)))


def _decode(value: bytes, fields: Fields) -> Any:
    text = utf8(value)
    return value_of(text, fields[0].type) if fields and fields[0].type != STRING else text


_FORMAT = Format(
    media_type="text/plain",
    spark=SparkCodec(_decode_sql, _encode_sql),
    local=LocalCodec(_decode, _encode),
    single=True,
    columns=(Field("value", STRING),),
    round_trips=lambda given: given == STRING,
)


def format_of(encoding: Encoding) -> Format:  # noqa: ARG001 - has no variants
    return _FORMAT
