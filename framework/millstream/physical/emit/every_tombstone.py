"""The mark in SQL by which a query drops rows that never matched, or sends tombstones for them."""

from __future__ import annotations

from millstream.expressions import Expression
from millstream.physical.emit.draft import composed
from millstream.types import BOOLEAN

NEEDED = "false /* no other version has sent rows */"
EVERY = "true /* another version may have sent rows */"


def unless_every_tombstone(condition: Expression) -> Expression:
    """Return a condition that has no effect if a query sends every tombstone."""
    return composed([condition], ("(", *condition.pieces, f" or {NEEDED})"), BOOLEAN)
