"""Each micro-batch of a query, as Spark tells of it."""

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

from millstream.runner.queries.batches import Batch, batch_of
from millstream.runner.queries.row_tests import Tested

Heard = Batch | Literal["idle", "ended"]
"""`idle`: there is nothing new to read. After `ended` comes nothing."""


class Listener(StreamingQueryListener):
    """Hears the one query of a session. Spark waits while it does, so it does no more than pass it on."""

    def __init__(self) -> None:
        self.tested = Tested()
        """What data tests found in the batches, where they are stored output by output."""
        self.heard: SimpleQueue[Heard] = SimpleQueue()

    def first(self, seconds: float) -> Heard | None:
        """Return what is heard first, if anything is in time."""
        try:
            return self.heard.get(timeout=seconds)
        except Empty:
            return None

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 -- Spark's name
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        self.heard.put(batch_of(event.progress, self.tested))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: ARG002, N802
        self.heard.put("idle")

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: ARG002, N802
        self.heard.put("ended")
