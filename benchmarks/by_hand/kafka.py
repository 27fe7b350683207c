"""Topics as streams of rows, and rows as records of topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery


class QueryContext(NamedTuple):
    spark: SparkSession
    bootstrap: str
    checkpoints: str
    prefix: str
    producer: Mapping[str, str]
    """Settings of Kafka's producer; by hand they are rarely given."""


class Query(NamedTuple):
    name: str
    start: Callable[[], StreamingQuery]
    topic: str | None = None
    """What it writes; None where that is a table."""
    reads: tuple[str, ...] = ()
    """Topics and tables of other queries, which must have ended before this one starts."""


def records(context: QueryContext, topic: str) -> DataFrame:
    return (
        context.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", context.bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )


def read(context: QueryContext, topic: str, schema: str, key: str | None = None) -> DataFrame:
    """Return a topic's values as columns, and its key where it is asked for."""
    parsed = f.from_json(f.col("value").cast("string"), schema).alias("event")
    if key is None:
        return records(context, topic).select(parsed).select("event.*")
    return (
        records(context, topic).select(f.col("key").cast("string").alias(key), parsed).select(key, "event.*")
    )


def with_time(events: DataFrame) -> DataFrame:
    return events.withColumn("event_time", f.timestamp_millis("timestamp"))


def write(
    context: QueryContext, rows: DataFrame, name: str, key: str, mode: str = "append"
) -> StreamingQuery:
    """Start a query that writes rows as JSON."""
    records = rows.select(
        f.col(key).cast("string").alias("key"),
        f.to_json(f.struct("*")).alias("value"),
    )
    return (
        records.writeStream.queryName(name)
        .outputMode(mode)
        .format("kafka")
        .option("kafka.bootstrap.servers", context.bootstrap)
        .options(**{f"kafka.{option}": value for option, value in context.producer.items()})
        .option("topic", context.prefix + name)
        .option("checkpointLocation", f"{context.checkpoints}/{name}")
        .trigger(availableNow=True)
        .start()
    )


def sink(
    context: QueryContext,
    rows: Callable[[QueryContext], DataFrame],
    key: str,
    mode: str = "append",
    reads: tuple[str, ...] = (),
) -> Query:
    """Return the query of a topic that is called as the function that makes its rows."""
    name = rows.__name__
    return Query(name, lambda: write(context, rows(context), name, key, mode), context.prefix + name, reads)


def query_context(
    spark: SparkSession, bootstrap: str, checkpoints: Any, prefix: str, producer: Mapping[str, str] | None
) -> QueryContext:
    return QueryContext(spark, bootstrap, str(checkpoints), prefix, producer or {})
