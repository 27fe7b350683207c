"""Eight bytes, the highest first: what Kafka's LongSerializer writes."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.expressions import Piece, joined
from millstream.physical.formats.base import VALUE, Decoded, Format, Named
from millstream.plan.nodes import Column


def decode(fields: Sequence[Column]) -> Decoded:
    number: tuple[Piece, ...] = ("cast(conv(hex(", VALUE, "), 16, -10) as bigint)")
    return Decoded(
        fields=tuple(number for _ in fields),
        bad=("octet_length(", VALUE, ") <> 8"),
        why="not eight bytes of a number",
    )


def encode(items: Sequence[Named]) -> tuple[Piece, ...]:
    ((_, found),) = items
    return joined(("unhex(lpad(hex(cast(", *found.pieces, " as bigint)), 16, '0'))"))


LONG = Format(decode, encode, single=True)
