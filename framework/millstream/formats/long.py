"""Eight bytes, the highest first: what Kafka's LongSerializer writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.expressions import Piece, joined
from millstream.formats.format import Decoded, Fields, Format, Item, LocalCodec, SparkCodec
from millstream.formats.sql import VALUE
from millstream.formats.values import UnfitError, one
from millstream.types import BIGINT, Field

_BYTES = 8


def _decode_sql(fields: Fields) -> Decoded:
    number: tuple[Piece, ...] = ("cast(conv(hex(", VALUE, "), 16, -10) as bigint)")
    return Decoded(
        fields=tuple(number for _ in fields),
        bad=("octet_length(", VALUE, ") <> 8"),
        why="not eight bytes of a number",
    )


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    ((_, found),) = items
    return joined(("unhex(lpad(hex(cast(", *found.pieces, " as bigint)), 16, '0'))"))


def _encode(value: Any, fields: Fields) -> bytes:
    number = one(value, fields)
    if not isinstance(number, int) or isinstance(number, bool):
        raise UnfitError(f"a value is a whole number, not {type(number).__name__}")
    try:
        return number.to_bytes(_BYTES, "big", signed=True)
    except OverflowError:
        raise UnfitError(f"{number} has more than 64 bits") from None


def _decode(value: bytes, fields: Fields) -> Any:  # noqa: ARG001
    if len(value) != _BYTES:
        raise UnfitError(f"not eight bytes of a number but {len(value)}")
    return int.from_bytes(value, "big", signed=True)


FORMAT = Format(
    media_type="application/octet-stream",
    spark=SparkCodec(_decode_sql, _encode_sql),
    local=LocalCodec(_decode, _encode),
    single=True,
    columns=(Field("value", BIGINT),),
    round_trips=lambda given: given == BIGINT,
)
