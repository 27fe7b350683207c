"""Where the inputs of a computed model come from: views of its sources, of tables and of seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct
from pyspark.sql import SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.engine.queries.histories import HistoryRead, HistoryReads
from millstream.engine.queries.seeds import view_seed
from millstream.engine.queries.tables import Tables
from millstream.kafka.clients import Admin
from millstream.kafka.cluster import reveal_options
from millstream.kafka.offsets import OffsetBounds, topic_bounds
from millstream.kafka.settings import source_options
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Project
from millstream.queries.values import ChangesRead, SourceRead, StaticRead, StreamRead, TopicRead
from millstream.sources.spark import spark_source
from millstream.sources.topic import spark as topic_reads
from millstream.sources.topic.spark.history_end import end_of_history


class Inputs(Protocol):
    """Creates the views that a model's SQL reads."""

    def stream(self, session: SparkSession, read: StreamRead, /) -> None:
        """Create the view of what a query reads as it comes."""

    def at_rest(self, session: SparkSession, read: StaticRead, /) -> None:
        """Create the view of rows at rest."""


class StoredInputs(Struct, frozen=True, eq=False):
    """What is stored now: the newest records of each partition, and all rows of everything else."""

    project: Project
    catalog: Catalog
    last: int
    """The number of records to read from the end of each partition."""
    admin: Admin

    def stream(self, session: SparkSession, read: StreamRead, /) -> None:
        match read:
            case ChangesRead():
                # The changes of a table so far are its rows.
                self.at_rest(session, StaticRead(read.view, read.relation))
            case SourceRead():
                rows = spark_source(session, self.project, read.relation).rows()
                rows.createOrReplaceTempView(read.view)
            case TopicRead():
                self._records(session, read)

    def at_rest(self, session: SparkSession, read: StaticRead, /) -> None:
        kind, name = read.relation.kind, read.relation.name
        if kind == "seed":
            view_seed(session, read.view, self.project, self.project.seeds[name])
            return
        Tables(session, self.project, self.catalog).view(session, read)

    def _records(self, session: SparkSession, source: TopicRead) -> None:
        offsets = topic_bounds(self.admin, source.topics)
        if missing := [topic for topic in source.topics if topic not in {held for held, _ in offsets}]:
            raise MillstreamError(missing_topic(missing[0]))
        last = max(end for _, end in offsets.values()) if source.reads_all else self.last
        ranges: dict[str, dict[int, tuple[int, int]]] = {}
        for (topic, number), bounds in offsets.items():
            first = first_shown(source, bounds, last)
            ranges.setdefault(topic, {})[number] = (first, bounds.end)
        read_records(session, source, self.project, self.admin, ranges)


def missing_topic(topic: str) -> Diagnostic:
    remedy = "create and fill it with `millstream build`"
    return Diagnostic("MS827", f"the topic '{topic}' does not exist yet", None, remedy)


def read_records(
    session: SparkSession,
    source: TopicRead,
    project: Project,
    admin: Admin,
    ranges: Mapping[str, topic_reads.Ranges],
) -> None:
    topic = project.topic(source.relation)
    reader_options = topic.options.get("options") if topic else None
    options = reveal_options(source_options(admin.cluster, reader_options or {}, "available_now"))
    topic_reads.read_ranges(session, source, options, ranges, history_of(session, source, project, admin))


def history_of(session: SparkSession, read: TopicRead, project: Project, admin: Admin) -> HistoryRead | None:
    """Return the history of a topic as a query that starts now would read it."""
    topic = project.topic(read.relation)
    if topic is None or topic.history is None:
        return None
    ends = {read.stream: end_of_history(session, project, topic, admin)}
    return HistoryReads(ends).of(project, read)


def first_shown(read: TopicRead, bounds: OffsetBounds, newest: int) -> int:
    """Return the offset of the first of a partition's newest records; older ones can be in a history."""
    return max(0 if read.history else bounds.first, bounds.end - newest)
