"""Reads records of topics, as a stream or between two offsets of each partition."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.queries.values import TopicRead
from millstream.sources.topic.spark.batch_limits import BATCH_LIMITS, limits_without_effect

Ranges = Mapping[int, tuple[int, int]]
"""The first offset of each partition, and the offset after the last."""
OLDEST = "oldest of "
"""The prefix of an observation's name: when the oldest record of a batch arrived in its topic."""


class Host(Protocol):
    """What reads a topic instead of Spark's source: for two queries, or after its history."""

    @property
    def headers(self) -> bool:
        """Whether headers are read even if the query does not need them."""

    def load(self, session: SparkSession, reader: DataStreamReader, *, headers: bool) -> DataFrame: ...


class EarlierRecords(Protocol):
    """What records a topic had before."""

    def in_topic(self, part: Ranges, /) -> Ranges:
        """Return what of a range is in the topic."""

    def between(self, session: SparkSession, records: DataFrame, part: Ranges, /) -> DataFrame:
        """Return all records of a range; `records` are those of the topic."""


def read_stream(
    session: SparkSession,
    read: TopicRead,
    options: Mapping[str, str],
    trigger: Mapping[str, Any],
    host: Host | None = None,
    *,
    timed: bool = False,
) -> None:
    """Read a topic as a stream, perhaps as the host of another query.

    `timed` observes when the oldest record of a batch arrived.
    """
    without = BATCH_LIMITS if read.reads_all else limits_without_effect(trigger)
    options = {name: value for name, value in options.items() if name not in without}
    headers = read.headers or (host is not None and host.headers)
    reader = session.readStream.options(**options).option("subscribe", ",".join(read.topics))
    reader = reader.option("includeHeaders", str(headers).lower())
    stream = reader.format("kafka").load() if host is None else host.load(session, reader, headers=headers)
    if timed:
        oldest = f.unix_micros(f.min("timestamp")).alias("micros")
        # Spark sets the time of a batch once, when it begins.
        age = f.unix_millis(f.current_timestamp()) - f.unix_millis("timestamp")
        ages = [] if "realTime" in trigger else [f.call_function("ages", age).alias("ages")]
        stream = stream.observe(f"{OLDEST}{read.relation}", oldest, *ages)
    stream.createOrReplaceTempView(read.view)


def read_ranges(
    session: SparkSession,
    read: TopicRead,
    options: Mapping[str, str],
    ranges: Mapping[str, Ranges],
    history: EarlierRecords | None = None,
) -> None:
    """Read the records of topics between two offsets of each partition, as a batch."""
    parts = ranges if history is None else {read.stream: history.in_topic(ranges[read.stream])}
    batch_options = {
        name: v for name, v in options.items() if not name.startswith(("starting", *BATCH_LIMITS))
    }
    starts, stops = ({t: {n: ends[i] for n, ends in parts[t].items()} for t in read.topics} for i in (0, 1))
    batch_options |= {"startingOffsets": offsets_of(starts), "endingOffsets": offsets_of(stops)}
    reader = session.read.format("kafka").options(**batch_options).option("subscribe", ",".join(read.topics))
    reader = reader.option("includeHeaders", str(read.headers).lower())
    records = reader.load()
    if history is not None:
        records = history.between(session, records, ranges[read.stream])
    records.createOrReplaceTempView(read.view)


def offsets_of(topics: Mapping[str, Mapping[int, int]]) -> str:
    """Return offsets by topic and partition, as the JSON of Spark's Kafka source."""
    return json.dumps(
        {topic: {str(n): offset for n, offset in numbers.items()} for topic, numbers in topics.items()}
    )
