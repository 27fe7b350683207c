"""Eight bytes in big-endian order, as Kafka's LongSerializer writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.core.types import BIGINT, Field
from millstream.formats.format import DecodedSql, Fields, Format, Item, LocalCodec, SparkCodec
from millstream.formats.registry import Encoding
from millstream.formats.sql import VALUE
from millstream.formats.values import UnfitError, single_value

_BYTES = 8


def _decode_sql(fields: Fields) -> DecodedSql:
    # Spark may compute it before bad values are left out, and it fails if `conv` has more than eight bytes.
    number: tuple[Piece, ...] = (
        "cast(conv(hex(if(octet_length(",
        VALUE,
        ") = 8, ",
        VALUE,
        ", null)), 16, -10) as bigint)",
    )
    return DecodedSql(
        fields=tuple(number for _ in fields),
        good=("coalesce(octet_length(", VALUE, ") = 8, true)"),
        why=(sql_literal("not eight bytes of a number"),),
    )


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    ((_, expression),) = items
    return join_pieces(("unhex(lpad(hex(cast(", *expression.pieces, " as bigint)), 16, '0'))"))


def _encode(value: Any, fields: Fields) -> bytes:
    number = single_value(value, fields)
    if not isinstance(number, int) or isinstance(number, bool):
        raise UnfitError(f"expected a whole number, not {type(number).__name__}")
    try:
        return number.to_bytes(_BYTES, "big", signed=True)
    except OverflowError:
        raise UnfitError(f"{number} does not fit into 64 bits") from None


def _decode(value: bytes, fields: Fields) -> Any:  # noqa: ARG001
    if len(value) != _BYTES:
        raise UnfitError(f"expected eight bytes, found {len(value)}")
    return int.from_bytes(value, "big", signed=True)


_FORMAT = Format(
    media_type="application/octet-stream",
    spark=SparkCodec(_decode_sql, _encode_sql),
    local=LocalCodec(_decode, _encode),
    single=True,
    holds=lambda type_: type_ == BIGINT,
    columns=(Field("value", BIGINT),),
    round_trips=lambda type_: type_ == BIGINT,
)


def format_of(encoding: Encoding) -> Format:  # noqa: ARG001 - has no variants
    return _FORMAT
