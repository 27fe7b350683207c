"""Receives each micro-batch of a query as Spark reports it."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import Literal

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from millstream.engine.queries.batch_result import BatchResult
from millstream.engine.queries.row_tests import CountsByBatch
from millstream.engine.queries.spark_progress import batch_of

Event = BatchResult | Literal["idle", "ended"]
"""`idle`: there is nothing new to read. `ended` is the last event."""


class ProgressListener(StreamingQueryListener):
    """Receives the events of a session's only query. Spark waits meanwhile, so it just queues them."""

    def __init__(self) -> None:
        self.counted = CountsByBatch()
        """What batches count that are stored output by output."""
        self.events: SimpleQueue[Event] = SimpleQueue()

    def first(self, seconds: float) -> Event | None:
        """Return the first event, or None after this time."""
        try:
            return self.events.get(timeout=seconds)
        except Empty:
            return None

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 -- Spark's name
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        self.events.put(batch_of(event.progress, self.counted))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: ARG002, N802
        self.events.put("idle")

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: ARG002, N802
        self.events.put("ended")
