"""Drops rows that repeat one that passed: for ever, within at least some event time, or exactly."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructField, StructType

from millstream.core.expressions import quote_name
from millstream.engine.queries.repeated_records import NO_MARK, mark_columns, marks_of
from millstream.engine.spark.settings import use_java_states
from millstream.plan.durations import duration_millis
from millstream.queries.emit.fuse import unused_name
from millstream.queries.emit.steps import DedupeView
from millstream.queries.values import OutputMode

WATERMARK_DELAY = "spark.watermarkDelayMs"
"""Spark's metadata of an event time column."""
PASSED = "passed"
"""The variable that has the state: the microseconds of rows that passed, the last one first."""


def drop_duplicates(rows: DataFrame, step: DedupeView) -> DataFrame:
    """Keep the first row of each key.

    Spark drops a key once the watermark passes its time plus the delay in the metadata of the event time.
    That delay is for late rows; it is replaced by `within` here.
    """
    if step.within is None or not rows.isStreaming:
        return rows.dropDuplicates(list(step.keys))
    metadata = {WATERMARK_DELAY: duration_millis(step.within)}
    times = [field for field in rows.schema if WATERMARK_DELAY in field.metadata]
    if windows := [field for field in times if isinstance(field.dataType, StructType)]:
        return _by_end(rows, step, windows[0], metadata)
    named = {
        field.name: f.col(quote_name(field.name)).alias(field.name, metadata=metadata) for field in times
    }
    return rows.withColumns(named).dropDuplicatesWithinWatermark(list(step.keys))


def _by_end(rows: DataFrame, step: DedupeView, window: StructField, metadata: dict[str, Any]) -> DataFrame:
    """Forget keys by the end of a window.

    Spark would read other bytes of the window as the time (StreamingDeduplicateWithinWatermarkExec).
    """
    end = unused_name("_end", rows.columns)
    timed = {
        window.name: f.col(quote_name(window.name)).alias(window.name, metadata=NO_MARK),
        end: _end(rows, window.name).alias(end, metadata=metadata),
    }
    passed = rows.withColumns(timed).dropDuplicatesWithinWatermark(list(step.keys)).drop(end)
    return mark_columns(passed, {window.name: window.metadata})


def exactly_deduplicated(session: SparkSession, step: DedupeView, mode: OutputMode) -> DataFrame:
    """Return the rows that pass a processor with state (Deduplicate.java), which also runs for a batch.

    Its rows keep the mark of their event time, by which Spark drops late ones (TransformWithStateExec).
    """
    use_java_states(session)
    # A batch query has state too, but only a StreamingQueryManager starts the stores' coordinator.
    _ = session.streams
    input_rows = session.table(step.of)
    names = {name.lower(): name for name in input_rows.columns}
    keys, time = [names[key.lower()] for key in step.keys], names[step.exact_by.lower()]
    columns = (f.unix_micros(_end(input_rows, time)), *_position(step))
    added = [
        column.alias(unused_name(f"_{number}", input_rows.columns)) for number, column in enumerate(columns)
    ]
    jvm: Any = session._jvm  # noqa: SLF001 -- there is no public API for it
    rows: Any = input_rows.select("*", *added)._jdf  # noqa: SLF001 -- as above
    assert step.within is not None
    within = duration_millis(step.within) * 1000
    passed = DataFrame(jvm.millstream.spark.StatefulRows.deduplicate(rows, keys, within, mode), session)
    return mark_columns(passed.select(*map(quote_name, input_rows.columns)), marks_of(input_rows))


def _end(rows: DataFrame, name: str) -> Column:
    """Return an event time, or the end of a window."""
    time = f.col(quote_name(name))
    return time.getField("end") if isinstance(rows.schema[name].dataType, StructType) else time


def _position(step: DedupeView) -> tuple[Column, ...]:
    if step.position_columns:
        return tuple(f.col(quote_name(name)) for name in step.position_columns)
    return tuple(f.lit(None).cast(kind) for kind in ("int", "bigint"))
