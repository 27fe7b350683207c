"""Text: the whole value is one column."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.expressions import Piece, joined
from millstream.physical.formats.base import VALUE, Decoded, Format, Named
from millstream.plan.nodes import Column
from millstream.types import STRING as TEXT


def decode(fields: Sequence[Column]) -> Decoded:
    def cast(field: Column) -> tuple[Piece, ...]:
        text: tuple[Piece, ...] = ("cast(", VALUE, " as string)")
        return text if field.type == TEXT else ("cast(", *text, f" as {field.type})")

    return Decoded(fields=tuple(joined(cast(field)) for field in fields))


def encode(items: Sequence[Named]) -> tuple[Piece, ...]:
    ((_, found),) = items
    return joined(("cast(", *found.pieces, " as string)"))


STRING = Format(decode, encode, single=True)
