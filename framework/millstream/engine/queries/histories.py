"""Reads the history of a topic before the topic itself, in one query.

The first batch has all of the history, and nothing of the topic; what follows has only the topic. So event
time does not move before the history is read, whatever is in the topic, and a batch that is repeated after a
crash reads the same rows. Which batch comes next is in Spark's own checkpoint, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.engine.spark.jvm import own_class
from millstream.project.values import Project
from millstream.queries.values import TopicRead
from millstream.sources.topic.history import HistoryEnd
from millstream.sources.topic.spark import Ranges
from millstream.sources.topic.spark.history import records_of_history

_HELD = "millstream.spark.HeldSource"
"""Spark's source of a topic, which waits for the first batch of its query."""
_FIRST = "millstream.spark.FirstRows"
"""A source whose rows are in the first batch of its query."""


class HistoryReads(Struct, frozen=True):
    """The histories of a query's topics."""

    ends: Mapping[str, HistoryEnd] = {}
    """By topic."""
    unread: bool = True
    """Nothing of them is read yet."""

    def of(self, project: Project, read: TopicRead) -> HistoryRead | None:
        """Return how a topic with a history is read; None if it has none."""
        return HistoryRead(project, read, self.ends[read.stream], self.unread) if read.history else None


class HistoryRead(Struct, frozen=True):
    """A read of a topic after its history."""

    project: Project
    read: TopicRead
    end: HistoryEnd
    unread: bool

    @property
    def headers(self) -> bool:
        return False

    def load(self, session: SparkSession, reader: DataStreamReader, *, headers: bool) -> DataFrame:  # noqa: ARG002
        """Return a stream of the history's records and those of the topic."""
        topic = self.since(reader.format(_HELD if self.unread else "kafka").load())
        # A history that was read is not looked at any more: it can be gone.
        rows = self.records(session) if self.unread else session.createDataFrame([], topic.schema)
        options = own_class(session, "spark.FirstRows").give(rows._jdf, self.read.stream)  # noqa: SLF001
        first = session.readStream.format(_FIRST).options(**options).load()
        return first.unionByName(topic)

    def in_topic(self, part: Ranges) -> Ranges:
        first = self.end.offsets
        return {n: (min(max(start, first.get(n, 0)), stop), stop) for n, (start, stop) in part.items()}

    def between(self, session: SparkSession, records: DataFrame, part: Ranges) -> DataFrame:
        """Return records of the topic, with those of the history if the range begins before it ends."""
        records = self.since(records)
        if self.end.since is not None:
            return self.records(session).unionByName(records) if self.unread else records
        parts = [
            f"partition = {number} and offset >= {start} and offset < {stop}"
            for number, (start, stop) in part.items()
            if start < self.end.offsets.get(number, 0)
        ]
        if not parts:
            return records
        return self.records(session).where(" or ".join(parts)).unionByName(records)

    def records(self, session: SparkSession) -> DataFrame:
        topic = self.project.topic(self.read.relation)
        assert topic is not None, f"{self.read.relation} is not a topic"
        return records_of_history(session, self.project, topic, self.read, self.end)

    def since(self, records: DataFrame) -> DataFrame:
        """Return the records of the topic that are not in the history: those before a time are."""
        millis = self.end.since
        return (
            records
            if millis is None
            else records.where(f.col("timestamp") >= f.timestamp_millis(f.lit(millis)))
        )
