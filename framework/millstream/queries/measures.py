"""Metrics of a model's rows: what a query computes of them while it stores the rows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from millstream.core.expressions import Expression, join_pieces, replace_columns, sql_literal
from millstream.core.node_id import NodeId
from millstream.core.types import BINARY
from millstream.plan.nodes import Meter, Metering, Output
from millstream.queries.dead_letters import skipped_row
from millstream.queries.emit.draft import Draft

METRICS = "metrics"
"""The fate, in the names of `count_name`, of rows that count for a metric."""


def metric_id(meter: Meter) -> NodeId:
    return NodeId("metric", meter.name)


def metric_markers(trunk: Draft, rows: Draft, output: Output) -> list[Draft]:
    """Return a marker for each row that counts; without a topic it is measured, but not sent."""
    return [_marker(trunk, rows, metering) for metering in output.metrics]


def _marker(trunk: Draft, rows: Draft, metering: Metering) -> Draft:
    text = _text(metering, rows)
    marker = skipped_row(trunk, str(metric_id(metering.meter)), (*rows.where, _is_there(text)))
    return replace(marker, items={**marker.items, "value": _as_bytes(text)})


def measure_rows(
    counts: dict[str, Expression], rows: Draft, output: Output, passing: Sequence[Expression]
) -> dict[str, Expression]:
    """Add the metrics of a batch's rows to its counts; `passing` are conditions of stored rows."""
    all_counts = dict(counts)
    for metering in output.metrics:
        text = _text(metering, rows)
        before, after = tally_sql(metering.meter)
        stored = [piece for condition in passing for piece in ("(", *condition.pieces, ") and ")]
        pieces = join_pieces((before, "if(", *stored, "true, ", *text.pieces, ", null)", after))
        all_counts[f"{METRICS} {metering.meter.name}"] = replace(text, pieces=pieces, atomic=True)
    return all_counts


def tally_sql(meter: Meter) -> tuple[str, str]:
    """Return the call of Millstream's aggregate for a metric, before and after its text."""
    boundaries = ",".join(map(str, meter.buckets))
    return "tally(", f", {sql_literal(boundaries)}, '{meter.most}')"


def _text(metering: Metering, rows: Draft) -> Expression:
    """Return what a row adds: NULL for one that only marks a delete."""
    text = replace_columns(metering.text, lambda ref: rows.items.get(ref.column))
    if rows.deleted is None:
        return text
    pieces = ("if(coalesce(", *rows.deleted.pieces, ", false), null, ", *text.pieces, ")")
    return replace(text, pieces=join_pieces(pieces), atomic=True)


def _as_bytes(text: Expression) -> Expression:
    return replace(text, pieces=join_pieces(("cast(", *text.pieces, " as binary)")), type=BINARY, atomic=True)


def _is_there(text: Expression) -> Expression:
    return replace(text, pieces=join_pieces(("(", *text.pieces, ") is not null")), atomic=False)
