"""Runs a query in Spark's real-time mode: rows flow through tasks that never end, not in batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.engine.queries.start import QueryContext, start_query
from millstream.queries.realtime import missing_slots
from millstream.queries.values import Query

CHECKPOINT_EVERY = "5 seconds"
"""The duration of a batch; Spark then records its offsets. Later records are read again after a failure.
Spark refuses shorter batches (spark.sql.streaming.realTimeMode.minBatchDuration)."""


def start_realtime(
    spark: SparkSession, query: Query, context: QueryContext, listener: StreamingQueryListener | None = None
) -> StreamingQuery:
    """Start a query in real-time mode; others run in batches."""
    assert not query.realtime, f"{query.title} can't run in real-time mode: {'; '.join(query.realtime)}"
    # A batch that never ends must not take a turn.
    context = replace(context, stores=replace(context.stores, turn=None))
    # Spark allows no other output mode; without state, all modes mean the same.
    return start_query(
        spark, replace(query, output_mode="update"), context, listener, realTime=CHECKPOINT_EVERY
    )


def check_slots(spark: SparkSession, queries: Iterable[tuple[Query, int]]) -> None:
    """Refuse queries with more partitions in total than Spark has slots: some would wait forever."""
    slots = spark.sparkContext.defaultParallelism
    missing = missing_slots([(query.title, partitions) for query, partitions in queries], slots)
    if missing:
        remedy = (
            "give Spark as many cores as partitions, with `master: local[8]` or more executors, "
            "or read fewer partitions in one target"
        )
        raise MillstreamError(Diagnostic("MS879", missing, None, remedy))


def partitions_of(query: Query, counts: Mapping[str, int]) -> int:
    """Return how many partitions a query reads; `counts` has those of each topic."""
    return sum(counts.get(stream, 1) for stream in query.streams)
