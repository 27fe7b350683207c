"""Lets two queries of a build read a topic once: those of a model with a state, and of models without one.

They remain two queries, each with a checkpoint of its own, so an edit of one does not touch the other. But
while both are at the same records, a query without a state is the guest of the other one: it does not read
its batch, but waits until the tasks of its host have made its records, too. If the host reads other records,
fails or has ended, the guest goes on alone, as it would without a host.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.engine.spark.jvm import own_class

_SOURCE = "millstream.spark.HostSource"
"""Spark's source of a topic, with the work of a guest."""
EachBatch = Callable[[DataFrame, int], None]


class SharedRead:
    """The batches of a host and its guest, in the threads of both."""

    def __init__(self, topic: str, host: str, guest: str, *, headers: bool = False) -> None:
        self.topic = topic
        self.host = host
        self.guest = guest
        self.headers = headers
        """The guest reads the headers of records."""
        self._changed = threading.Condition()
        self._reader: Any = None
        self._waiting: Any = None
        """A batch of the guest."""
        self._answer: bool | None = None
        """Whether the host has made all of its records."""
        self._parted = False

    def part(self) -> None:
        """Let both go on alone: from now on, they are at different records."""
        with self._changed:
            self._parted = True
            self._changed.notify_all()

    def has_sent(self, batch: Any) -> bool:
        """Wait until the host has made the records of a batch; return False if the guest has to do that."""
        with self._changed:
            self._waiting, self._answer = batch, None
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._parted or self._answer is not None)
            self._waiting = None
            return self._answer is True

    def load(self, session: SparkSession, reader: DataStreamReader, *, headers: bool) -> DataFrame:
        """Read the topic as the host."""
        self._reader = own_class(session, "spark.Host")(self.topic, headers)
        try:
            return reader.format(_SOURCE).options(**self._reader.open()).load()
        finally:
            self._reader.close()

    def hosting(self, work: EachBatch) -> EachBatch:
        """Return what does the work of the host's batches, and of the guest's ones with them."""

        def each_batch(batch: DataFrame, number: int) -> None:
            with self._with_guest(batch):
                work(batch, number)

        return each_batch

    @contextmanager
    def _with_guest(self, batch: DataFrame) -> Iterator[None]:
        rows = batch._jdf  # noqa: SLF001
        guest = self._next() if self._reader.reads(rows) else None
        if guest is None or not self._reader.take(guest, rows):
            self.part()
            yield
            return
        try:
            yield
        finally:
            self._reader.end()
            # A host that fails may have read all records before.
            self._tell(bool(guest.isComplete()))

    def _next(self) -> Any:
        """Return the next batch of the guest once it is there; None without a guest."""
        with self._changed:
            self._changed.wait_for(lambda: self._parted or self._waiting is not None)
            return None if self._parted else self._waiting

    def _tell(self, answer: bool) -> None:
        with self._changed:
            self._waiting, self._answer = None, answer
            self._parted = self._parted or not answer
            self._changed.notify_all()
