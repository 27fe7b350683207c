"""Rows that are logged: what a query gathers of them while it stores the rows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, join_pieces, replace_columns
from millstream.core.node_id import NodeId
from millstream.core.types import BINARY
from millstream.plan.nodes import Output, RowLog
from millstream.queries.dead_letters import skipped_row
from millstream.queries.emit.draft import RECORD, Draft

LOGS = "logs"
"""The fate, in the names of `count_name`, of rows that are logged."""


def log_id(model: NodeId) -> str:
    return f"log.{model}"


def log_markers(trunk: Draft, rows: Draft, output: Output, position_alias: str | None) -> list[Draft]:
    """Return a marker for each logged row, with its text; without a topic it is gathered, but not sent.

    `position_alias` is the alias of rows that have their record's position.
    """
    if output.log is None:
        return []
    text = _text(output, rows, position_alias)
    is_there = replace(text, pieces=join_pieces(("(", *text.pieces, ") is not null")), atomic=False)
    marker = skipped_row(trunk, log_id(output.model), (*rows.where, is_there))
    value = replace(
        text, pieces=join_pieces(("cast(", *text.pieces, " as binary)")), type=BINARY, atomic=True
    )
    return [replace(marker, items={**marker.items, "value": value})]


def gather_logs(rows: Draft, output: Output, passing: Sequence[Expression]) -> dict[str, Expression]:
    """Return the texts of a batch's logged rows; `passing` are conditions of stored rows."""
    if output.log is None:
        return {}
    text = _text(output, rows)
    before, after = gather_sql(output.log.log)
    stored = [piece for condition in passing for piece in ("(", *condition.pieces, ") and ")]
    pieces = join_pieces((before, "if(", *stored, "true, ", *text.pieces, ", null)", after))
    return {f"{LOGS} {output.model}": replace(text, pieces=pieces, atomic=True)}


def gather_sql(log: RowLog) -> tuple[str, str]:
    """Return the call of Millstream's aggregate for logged rows, before and after its text."""
    return "gather(", f", '{log.sample}', '{log.per_minute}')"


def _text(output: Output, rows: Draft, position_alias: str | None = None) -> Expression:
    """Return the text of a row, after its record's position and a blank if that is known.

    It is NULL for rows that are not logged, and for those that only mark a delete.
    """
    assert output.log is not None
    text = replace_columns(output.log.text, lambda ref: rows.items.get(ref.column))
    pieces: tuple[Piece, ...] = text.pieces
    if position_alias is not None:
        record = Ref(RECORD, position_alias)
        position = (record, ".topic, '-', ", record, ".partition, '-', ", record, ".offset, ' ', ")
        pieces = ("concat(", *position, *pieces, ")")
    if rows.deleted is not None:
        pieces = ("if(coalesce(", *rows.deleted.pieces, ", false), null, ", *pieces, ")")
    return replace(text, pieces=join_pieces(pieces), atomic=True)
