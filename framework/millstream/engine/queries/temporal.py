"""Joins the rows of a stream with the versions that were valid at their times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.types import DoubleType, FloatType

from millstream.core.expressions import quote_name
from millstream.engine.spark.settings import use_java_states
from millstream.plan.nodes import VERSION_PLACE
from millstream.queries.emit.fuse import unused_name
from millstream.queries.emit.steps import TemporalView
from millstream.queries.values import OutputMode

VERSIONS = "versions"
"""The variable that has the versions of a key in the state, by the microseconds from which each is valid."""
HELD = 1_000_000
"""Times of versions, of 8 bytes, that a task holds in memory; it reads others again for each row."""
_COLUMNS = ("at", "event", "version", "partition", "offset", "kept_until")
_TIME = {"spark.watermarkDelayMs": 0}
"""Spark's metadata of an event time column; the delay itself is part of the watermark."""


def joined_as_of(session: SparkSession, step: TemporalView, mode: OutputMode) -> DataFrame:
    """Return joined rows: of a stream, once their versions are known; of a batch, those that it has."""
    events, versions = session.table(step.of), session.table(step.versions)
    # A tombstone has no time, since the change before it has ended the version.
    versions = versions.where(f.col(quote_name(step.begins)).isNotNull())
    joined = _streamed if events.isStreaming else _at_once
    rows = joined(session, events, versions, step, mode)
    if not step.outer:
        rows = rows.where("version is not null")
    return rows.select(
        *(_named("event", *column, timed=column[0] == step.time) for column in step.left),
        *(_named("version", *column) for column in step.right),
    )


def _named(side: str, source: str, name: str, *, timed: bool = False) -> Column:
    # Another such join above it needs the mark of the event time, which a field of a struct lacks.
    field = f.col(side).getField(source)
    return field.alias(name, metadata=_TIME) if timed else field.alias(name)


def _streamed(
    session: SparkSession, events: DataFrame, versions: DataFrame, step: TemporalView, mode: OutputMode
) -> DataFrame:
    """Return both as one stream of a processor with state (TemporalJoin.java).

    Spark drops a row as late if a column with an event time is not after the watermark
    (TransformWithStateExec). Here it is the time until which the version of an event is kept.
    """
    use_java_states(session)
    none, position = f.lit(None), [f.col(quote_name(name)) for name in VERSION_PLACE]
    kept_until = none.cast("timestamp")
    if step.keep is not None:
        kept_until = _time(step) + f.expr(f"interval {step.keep} milliseconds")
    left = events.select(
        *_keys(events, step, 0),
        f.unix_micros(quote_name(step.time)).alias("at"),
        _row(source for source, _ in step.left).alias("event"),
        *(none.cast(kind).alias(name) for kind, name in (("int", "partition"), ("bigint", "offset"))),
        kept_until.alias("kept_until", metadata=_TIME),
    )
    right = versions.select(
        *_keys(versions, step, 1),
        f.unix_micros(quote_name(step.begins)).alias("at"),
        _version(step).alias("version"),
        *(column.alias(name) for column, name in zip(position, ("partition", "offset"), strict=True)),
        none.cast("timestamp").alias("kept_until"),
    )
    # Spark asks the sources of a plan for new records in order: versions come last, and so are not behind.
    both = left.unionByName(right, allowMissingColumns=True)
    keys = _key_names(step)
    both = both.select(*map(quote_name, keys), *_COLUMNS)
    jvm: Any = session._jvm  # noqa: SLF001 -- there is no public API for it
    rows: Any = both._jdf  # noqa: SLF001 -- as above
    joined = jvm.millstream.spark.StatefulRows.join(rows, len(keys), step.wait, step.keep, mode, HELD)
    return DataFrame(joined, session)


def _at_once(
    session: SparkSession,  # noqa: ARG001 -- as for a stream
    events: DataFrame,
    versions: DataFrame,
    step: TemporalView,
    mode: OutputMode,  # noqa: ARG001 -- as for a stream
) -> DataFrame:
    keys = [quote_name(name) for name in _key_names(step)]
    bounds = versions.select(
        *_keys(versions, step, 1),
        f.col(quote_name(step.begins)).alias("at"),
        _version(step).alias("version"),
        f.struct(*map(quote_name, VERSION_PLACE)).alias("place"),
    )
    bounds = bounds.groupBy(*keys, "at").agg(f.max_by("version", "place").alias("version"))
    by_time = Window.partitionBy(*keys).orderBy("at")
    valid = bounds.withColumn("next", f.lead("at").over(by_time)).alias("v")
    timed_events = events.select(
        *_keys(events, step, 0),
        _time(step).alias("time"),
        _row(source for source, _ in step.left).alias("event"),
    ).alias("e")
    on = [f.col(f"e.{key}") == f.col(f"v.{key}") for key in keys]
    on += [f.expr("v.at <= e.time and (v.next is null or e.time < v.next)")]
    return timed_events.join(valid, on, "left").select("event", "version")


def _key_names(step: TemporalView) -> list[str]:
    """Return names for the columns of a key: those of versions, as far as they are unused."""
    names: list[str] = []
    for _, name in step.pairs:
        names.append(unused_name(name, (*_COLUMNS, *names)))
    return names


def _keys(rows: DataFrame, step: TemporalView, side: int) -> list[Column]:
    columns: list[Column] = []
    for pair, name in zip(step.pairs, _key_names(step), strict=True):
        column = f.col(quote_name(pair[side]))
        if isinstance(rows.schema[pair[side]].dataType, FloatType | DoubleType):
            column = column + f.lit(0)  # states compare bytes, by which -0.0 is another number
        columns.append(column.alias(name))
    return columns


def _time(step: TemporalView) -> Column:
    return f.col(quote_name(step.time))


def _row(names: Iterable[str]) -> Column:
    return f.struct(*(f.col(quote_name(name)) for name in names))


def _version(step: TemporalView) -> Column:
    """Return a version, or NULL for a record that ends the one before it."""
    names = [name for name, _ in step.right] or [step.begins]
    return f.when(~f.col("_deleted"), _row(names))
