"""Bytes as they are."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.expressions import Piece, joined
from millstream.physical.formats.base import VALUE, Decoded, Format, Named
from millstream.plan.nodes import Column


def decode(fields: Sequence[Column]) -> Decoded:
    return Decoded(fields=tuple((VALUE,) for _ in fields))


def encode(items: Sequence[Named]) -> tuple[Piece, ...]:
    ((_, found),) = items
    return joined(("cast(", *found.pieces, " as binary)"))


BINARY = Format(decode, encode, single=True)
