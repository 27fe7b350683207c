"""A query in Spark's real-time mode: rows flow through tasks that run all the time, not batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.realtime import missing_slots
from millstream.physical.values import Query
from millstream.runner.queries.start import QueryContext, start

CHECKPOINT_EVERY = "5 seconds"
"""How long a batch lasts: after each, Spark notes how far it has read. What came since is read again after a
failure. Shorter ones Spark refuses (spark.sql.streaming.realTimeMode.minBatchDuration)."""


def start_realtime(
    spark: SparkSession, query: Query, context: QueryContext, listener: StreamingQueryListener | None = None
) -> StreamingQuery:
    """Start a query in real-time mode; refuse where something prevents it."""
    if query.realtime:
        message = f"{query.title} can't run in real-time mode: {'; '.join(query.realtime)}"
        remedy = "choose a trigger such as `1 second` for the target, or change what is named"
        raise MillstreamError(Diagnostic("MS878", message, None, remedy))
    # A batch that never ends waits for no turn.
    context = replace(context, stores=replace(context.stores, turn=None))
    # Spark takes no other output mode; where nothing keeps state, they mean the same.
    return start(spark, replace(query, output_mode="update"), context, listener, realTime=CHECKPOINT_EVERY)


def check_slots(spark: SparkSession, queries: Iterable[tuple[Query, int]]) -> None:
    """Refuse queries that would wait for one another for ever; with each, how many partitions it reads."""
    slots = spark.sparkContext.defaultParallelism
    found = missing_slots([(query.title, partitions) for query, partitions in queries], slots)
    if found:
        remedy = (
            "give Spark as many cores as partitions: `master: local[8]`, or more executors; "
            "or read fewer partitions in one target"
        )
        raise MillstreamError(Diagnostic("MS879", found, None, remedy))


def partitions_of(query: Query, counts: Sequence[tuple[str, int]]) -> int:
    """Return how many partitions a query reads; `counts` has those of each topic."""
    by_topic = dict(counts)
    return sum(by_topic.get(source.topic, 1) for source in query.sources)
