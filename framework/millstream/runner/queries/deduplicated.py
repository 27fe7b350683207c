"""Drops rows that repeat one that passed within exactly some event time."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from millstream.expressions import quoted
from millstream.physical.emit.fuse import unused
from millstream.physical.emit.steps import DedupeView
from millstream.physical.values import OutputMode
from millstream.plan.durations import milliseconds
from millstream.runner.python.keyed import use_rocksdb

PASSED = "passed"
"""The variable that has the state: the microseconds of rows that passed, the last one first."""


def deduplicated(session: SparkSession, step: DedupeView, mode: OutputMode) -> DataFrame:
    """Return the rows that pass a processor with state (Deduplicate.java), which also runs for a batch.

    Its rows keep the mark of their event time, by which Spark drops late ones (TransformWithStateExec).
    """
    use_rocksdb(session)
    # Rows pass Java, whose older types for dates have another calendar.
    session.conf.set("spark.sql.datetime.java8API.enabled", "true")
    # A batch query has state too, but only a StreamingQueryManager starts the stores' coordinator.
    _ = session.streams
    given = session.table(step.of)
    own = (_time(given, step.exact_by), *_place(step))
    added = [column.alias(unused(f"_{number}", given.columns)) for number, column in enumerate(own)]
    jvm: Any = session._jvm  # noqa: SLF001 -- there is no public API for it
    rows: Any = given.select("*", *added)._jdf  # noqa: SLF001 -- as above
    assert step.within is not None
    within = milliseconds(step.within) * 1000
    passed = DataFrame(jvm.millstream.spark.Deduplicate.of(rows, [*step.keys], within, mode), session)
    marks = {field.name: field.metadata for field in given.schema}
    return passed.select(*(f.col(quoted(name)).alias(name, metadata=mark) for name, mark in marks.items()))


def _time(rows: DataFrame, name: str) -> Column:
    time = f.col(quoted(name))
    window = isinstance(rows.schema[name].dataType, StructType)
    return f.unix_micros(time.getField("end") if window else time)


def _place(step: DedupeView) -> tuple[Column, ...]:
    if step.place:
        return tuple(f.col(quoted(name)) for name in step.place)
    return tuple(f.lit(None).cast(kind) for kind in ("int", "bigint"))
