"""Topics as streams of rows, and rows as records of topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery


class Place(NamedTuple):
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


def records(place: Place, topic: str) -> DataFrame:
    return (
        place.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", place.bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )


def read(place: Place, topic: str, schema: str, key: str | None = None) -> DataFrame:
    """Return a topic's values as columns, and its key where it is asked for."""
    parsed = f.from_json(f.col("value").cast("string"), schema).alias("event")
    if key is None:
        return records(place, topic).select(parsed).select("event.*")
    return records(place, topic).select(f.col("key").cast("string").alias(key), parsed).select(key, "event.*")


def with_time(events: DataFrame) -> DataFrame:
    return events.withColumn("event_time", f.timestamp_millis("timestamp"))


def write(place: Place, rows: DataFrame, name: str, key: str, mode: str = "append") -> StreamingQuery:
    """Start a query that writes rows as JSON."""
    records = rows.select(
        f.col(key).cast("string").alias("key"),
        f.to_json(f.struct("*")).alias("value"),
    )
    return (
        records.writeStream.queryName(name)
        .outputMode(mode)
        .format("kafka")
        .option("kafka.bootstrap.servers", place.bootstrap)
        .options(**{f"kafka.{option}": value for option, value in place.producer.items()})
        .option("topic", place.prefix + name)
        .option("checkpointLocation", f"{place.checkpoints}/{name}")
        .trigger(availableNow=True)
        .start()
    )


def sink(
    place: Place,
    rows: Callable[[Place], DataFrame],
    key: str,
    mode: str = "append",
    reads: tuple[str, ...] = (),
) -> Query:
    """Return the query of a topic that is called as the function that makes its rows."""
    name = rows.__name__
    return Query(name, lambda: write(place, rows(place), name, key, mode), place.prefix + name, reads)


def place_of(
    spark: SparkSession, bootstrap: str, checkpoints: Any, prefix: str, producer: Mapping[str, str] | None
) -> Place:
    return Place(spark, bootstrap, str(checkpoints), prefix, producer or {})
