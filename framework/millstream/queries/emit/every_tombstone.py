"""The marks in SQL by which a query drops rows that never matched, or sends tombstones for them."""

from __future__ import annotations

from millstream.core.expressions import Expression
from millstream.core.types import BOOLEAN
from millstream.queries.emit.draft import compose_expression

NEEDED = "false /* no other version has sent rows */"
EVERY = "true /* another version may have sent rows */"
_COPIED = "/* its state has copies of these */"


def unless_every_tombstone(condition: Expression) -> Expression:
    """Return a condition that has no effect if a query sends every tombstone."""
    return compose_expression([condition], ("(", *condition.pieces, f" or {NEEDED})"), BOOLEAN)


def matched_aggregate(condition: Expression, name: str) -> Expression:
    """Return an aggregate: a condition holds, or held before the batch (Matched.java)."""
    pieces = ("matched(", *condition.pieces, f", {NEEDED}, {mark_of(name)})")
    return compose_expression([condition], pieces, BOOLEAN, nullable=False)


def mark_of(name: str, *, copied: bool = True) -> str:
    """Return the argument by which the aggregate of this name has state, or is true for every group."""
    return f"'{name if copied else ''}' {_COPIED}"
