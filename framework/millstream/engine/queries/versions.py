"""Keeps each version of a row, with the times from which and until which it is valid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone

from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.engine.queries.differences import COPIES, NEW, PRESENT, STORED, differences_sql
from millstream.engine.queries.small_batches import EvaluatedBatch, evaluate_batch
from millstream.engine.queries.version_sql import (
    BATCH_ROWS,
    TOUCHED,
    VersionHorizon,
    newest_sql,
    placed_sql,
    stored_touched_sql,
    touched_sql,
    versions_sql,
)
from millstream.plan.durations import parse_duration
from millstream.plan.nodes.maintenance import STORED_TOUCHED
from millstream.queries.values import RowVersions, TableOutput

_PLACED = "_millstream_placed"


@contextmanager
def version_differences(
    rows: DataFrame, stored: DataFrame, table: TableOutput, *, now: datetime | None = None
) -> Iterator[EvaluatedBatch]:
    """Yield what the new rows of a batch change in the versions that are stored, with `_deleted`."""
    session, versions = rows.sparkSession, table.versions
    assert versions is not None
    if "_deleted" not in rows.columns:
        rows = rows.withColumn("_deleted", f.lit(False))
    stored.select(*(f.col(quote_name(column.name)) for column in table.columns)).createOrReplaceTempView(
        STORED
    )
    with ExitStack() as stack:
        rows.createOrReplaceTempView(BATCH_ROWS)
        if versions.replaces:
            placed = session.sql(placed_sql(table, versions, _sql(now or datetime.now(timezone.utc))))
            placed.createOrReplaceTempView(_PLACED)
        batch_rows = session.table(_PLACED if versions.replaces else BATCH_ROWS)
        stack.enter_context(evaluate_batch(batch_rows)).rows.createOrReplaceTempView(BATCH_ROWS)
        horizon = _horizon(session, versions) if versions.keep else None
        touched = stack.enter_context(evaluate_batch(session.sql(touched_sql(versions, horizon))))
        touched.rows.createOrReplaceTempView(TOUCHED)
        session.sql(stored_touched_sql(versions)).createOrReplaceTempView(STORED_TOUCHED)
        session.sql(versions_sql(table, versions, horizon)).createOrReplaceTempView(NEW)
        computed = stack.enter_context(evaluate_batch(session.sql(differences_sql(table))))
        yield replace(computed, rows=computed.rows.drop(COPIES, PRESENT))


def _horizon(session: SparkSession, versions: RowVersions) -> VersionHorizon | None:
    """Return until when the versions ended that are not kept; None if no bound has a time yet."""
    months, micros = parse_duration(versions.keep)
    ago = f"make_interval(0, {months}, 0, 0, 0, 0, {micros} / 1000000)"
    both = " union all ".join(
        f"select newest, {stored} as _stored from ({newest_sql(view)})"  # noqa: S608
        for view, stored in ((STORED, "true"), (BATCH_ROWS, "false"))
    )
    # With its offset, a time is the same whatever the session's time zone is.
    before, after = (
        f"date_format({time} - {ago}, \"y-MM-dd'T'HH:mm:ss.SSSSSSXXX\")"
        for time in ("max(newest) filter (where _stored)", "max(newest)")
    )
    (row,) = session.sql(f"select {before}, {after} from ({both})").collect()  # noqa: S608
    if row[1] is None:
        return None
    return VersionHorizon(f"timestamp'{row[0] or row[1]}'", f"timestamp'{row[1]}'")


def _sql(time: datetime) -> str:
    return f"timestamp'{time.astimezone(timezone.utc).isoformat()}'"
