"""Limits the batches of a running query, so that results are stored within the time that its models set.

Spark asks for the end of the next batch as soon as one has ended, and reports the one that has ended
meanwhile. So each batch chooses the size of the next one by its own work, and by the earlier reports.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from msgspec.structs import replace
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.deploy.live.latency_limit import FIRST, BatchSizer, ObservedBatch, shared_out
from millstream.engine.queries.batch_result import BatchResult
from millstream.engine.queries.batch_scheduler import QueryTurn
from millstream.engine.queries.start import QueryContext
from millstream.engine.spark.jvm import own_class
from millstream.queries.values import Query
from millstream.sources.topic.spark.batch_limits import largest_batch, with_limit


class BatchSizing:
    """The sizes of one query's batches."""

    def __init__(self, latency: float, query: Query, context: QueryContext, turn: QueryTurn | None) -> None:
        sources = {name: with_limit(FIRST, options) for name, options in context.sources.items()}
        writer = replace(context.stores, ended=self._follow)
        self.context = replace(context, sources=sources, stores=writer)
        """Its context, with the limits of the first batch."""
        self.latency = latency
        self._turn = turn
        self._sizer = BatchSizer()
        limited = [read for read in query.topic_reads if not read.reads_all]
        self._topics = {read.stream: read.topics for read in limited}
        self._most = {read.stream: largest_batch(context.sources[read.relation]) for read in limited}
        self._behind = dict.fromkeys(self._topics, 0)
        self._besides = 0.0
        """Seconds of a batch besides the work that it does in its turn."""
        self._streaming: StreamingQuery | None = None
        self._lock = threading.Lock()

    def begin(self, streaming: StreamingQuery) -> None:
        self._streaming = streaming

    def note(self, batch: BatchResult) -> None:
        """Take over what Spark reports of a batch."""
        with self._lock:
            for stream, topics in self._topics.items():
                if read := [batch.behind[topic] for topic in topics if topic in batch.behind]:
                    self._behind[stream] = sum(read)
            self._besides = batch.seconds - batch.phases.get("addBatch", 0)

    def _follow(self, records: int, seconds: float) -> None:
        """Limit the next batch after the work of one, in the thread that asks for the next one."""
        waited = 0 if self._turn is None else self._turn.waited
        with self._lock:
            self._sizer.add(ObservedBatch(records, seconds + self._besides, waited))
            shares = shared_out(self._sizer.limit(self.latency), self._behind)
        limits = {stream: min(n, self._most[stream] or n) for stream, n in shares.items()}
        # The first batch can end before the query's start has returned.
        if self._streaming is not None:
            _limit(self._streaming, limits)


def _limit(streaming: StreamingQuery, streams: Mapping[str, int]) -> None:
    limits = own_class(SparkSession.active(), "spark.BatchLimits")
    limits.limit(streaming._jsq, dict(streams))  # noqa: SLF001
