"""Kafka for the queries of a job: creates topics, and returns options of sources and sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.topics_needed import read_topics, written_topics
from millstream.deploy.values import DiagnosticEvent, Job, SetupStep, Tell
from millstream.engine.queries.triggers import DEFAULT
from millstream.kafka.clients import Admin, admin_of
from millstream.kafka.cluster import Cluster, cluster_of, reveal_options
from millstream.kafka.generators import generators_of
from millstream.kafka.offsets import offsets_since, topic_bounds
from millstream.kafka.producing import fill_empty
from millstream.kafka.settings import sink_options, source_options
from millstream.kafka.topics import TopicConfig, compare_topics, create_missing, topic_ids
from millstream.local.server.shared import StartingServer
from millstream.queries.values import Query
from millstream.sources.topic.spark import Ranges, offsets_of
from millstream.sources.topic.spark.batch_limits import batch_limits
from millstream.stores.tables.seeds import parse_timestamp


class RunTopics(Struct, frozen=True):
    cluster: Cluster
    trigger: str
    zone: str

    def source(self, topics: Sequence[str], options: Mapping[str, Any]) -> dict[str, str]:
        """Return the options of Spark's Kafka source for topics with these configured options."""
        if began := options.get("began"):
            starting = {"startingOffsets": offsets_of(dict.fromkeys(topics, began))}
        else:
            starting = self._starting(str(options.get("starting") or "earliest"))
        reader_options = source_options(self.cluster, options.get("options") or {}, self.trigger)
        return starting | batch_limits(options) | reveal_options(reader_options)

    def sink(self, producer: Mapping[str, Any]) -> dict[str, str]:
        return reveal_options(sink_options(self.cluster, producer, self.trigger))

    def until(self, topic: str, options: Mapping[str, Any], ends: Mapping[int, int]) -> Ranges:
        """Return the ranges that a new query would read, up to `ends`."""
        admin = admin_of(self.cluster)
        starting = str(options.get("starting") or "earliest")
        offsets = topic_bounds(admin, [topic])
        timed = offsets and starting not in {"earliest", "latest"}
        starts = offsets_since(admin, topic, self._millis(starting)) if timed else options.get("began") or {}
        ranges: dict[int, tuple[int, int]] = {}
        for (_, number), (first, end) in offsets.items():
            stop = min(ends.get(number, first), end)
            start = stop if starting == "latest" else max(starts.get(number, first), first)
            ranges[number] = (min(start, stop), stop)
        return ranges

    def ends(self, topics: Iterable[str]) -> dict[str, int]:
        """Return how many records each topic has ever received."""
        return {topic: sum(ends.values()) for topic, ends in self.held(topics).items()}

    def held(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        """Return where each topic ends, by partition."""
        ends: dict[str, dict[int, int]] = {topic: {} for topic in topics}
        for (topic, number), bound in topic_bounds(admin_of(self.cluster), ends).items() if ends else ():
            ends[topic][number] = bound.end
        return ends

    def create(self, topics: Sequence[TopicConfig]) -> tuple[str, ...]:
        return create_missing(admin_of(self.cluster), topics)

    def ids(self, topics: Sequence[str]) -> dict[str, str]:
        return topic_ids(admin_of(self.cluster), topics) if topics else {}

    def _starting(self, start: str) -> dict[str, str]:
        if start in {"earliest", "latest"}:
            return {"startingOffsets": start}
        millis = str(self._millis(start))
        return {"startingTimestamp": millis, "startingOffsetsByTimestampStrategy": "latest"}

    def _millis(self, time: str) -> int:
        return round(parse_timestamp(time, ZoneInfo(self.zone)).timestamp() * 1000)


def make_ready(job: Job, queries: Sequence[Query], broker: StartingServer | None, tell: Tell) -> RunTopics:
    """Wait for the broker, and create missing topics."""
    tell(SetupStep("topics"))
    target = job.project.target
    bootstrap = broker.ready().address if broker else None
    cluster = cluster_of(target, bootstrap, job.project.root)
    make_topics(job, queries, cluster, tell)
    return RunTopics(cluster, job.trigger or DEFAULT, str(target.settings.get("timezone", "UTC")))


def make_topics(job: Job, queries: Sequence[Query], cluster: Cluster, tell: Tell) -> None:
    """Create missing topics.

    Topics of sources are only created on this machine's broker; on other clusters their producers own them.
    """
    admin, environment = admin_of(cluster), job.project.target.environment
    read, written = read_topics(queries, job.project), written_topics(queries)
    # Sources of an environment are production's.
    owns_topics = cluster.embedded and environment is None
    if environment is not None:
        read = []
        _check_existing(job, queries, admin)
    created = create_missing(admin, [*read, *written] if owns_topics else written)
    filled = _fill(job, admin, read, tell) if owns_topics else {}
    for difference in compare_topics(admin, [*read, *written]):
        tell(DiagnosticEvent(difference.diagnostic))
    parts = [f"{len(created)} created"] if created else []
    parts += [f"{len(filled)} filled with {sum(filled.values()):,} records"] if filled else []
    tell(SetupStep("topics", ", ".join(parts), done=True))


def _fill(job: Job, admin: Admin, read: Sequence[TopicConfig], tell: Tell) -> dict[str, int]:
    """Fill empty topics of sources from the project's generators, so that a first build shows rows."""
    generated = {topic.topics[0] for _, topic in generators_of(job.project).values()}
    names = [topic.name for topic in read if topic.name in generated]

    def progress(topic: str, count: int) -> None:
        tell(SetupStep("topics", f"{count:,} records in {topic}"))

    return fill_empty(admin, job.project, names, progress=progress) if names else {}


def check_sources(job: Job, queries: Sequence[Query]) -> None:
    """Raise if a topic of a source does not exist, before anything is started: nobody here may create it."""
    _check_existing(job, queries, admin_of(cluster_of(job.project.target, None, job.project.root)))


def _check_existing(job: Job, queries: Sequence[Query], admin: Admin) -> None:
    existing = admin.metadata().topics
    remedy = "create it, fix `topic:` of the source, or check `bootstrap_servers` of the target"
    read = read_topics(queries, job.project)
    messages = [f"the topic '{t.name}' of a source does not exist" for t in read if t.name not in existing]
    environment = job.project.target.environment
    for source in (source for query in queries for source in query.topic_reads):
        deferred = environment is not None and environment.defers(source.relation) and not source.pattern
        missing = [topic for topic in source.topics if deferred and topic not in existing]
        messages += [f"the topic '{topic}' of production does not exist" for topic in missing]
    if messages:
        raise MillstreamError(*(Diagnostic("MS872", message, None, remedy) for message in messages))
