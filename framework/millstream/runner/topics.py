"""Kafka as the queries of a build use it: topics that are there, and options of sources and sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from millstream.broker import Starting
from millstream.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import Admin, admin_of
from millstream.kafka.cluster import Cluster, cluster_of, revealed
from millstream.kafka.generators import generators_of
from millstream.kafka.names import translated
from millstream.kafka.offsets import bounds, since
from millstream.kafka.producing import fill_empty
from millstream.kafka.settings import producer_config, sink_options, source_options
from millstream.kafka.topics import Topic, create_missing, differences, topic_ids
from millstream.physical.values import Query
from millstream.runner.reading import Ranges, offsets_of, sizes
from millstream.runner.triggers import DEFAULT
from millstream.runner.values import Job, Setup, Tell, Told
from millstream.runner.wanted import read_topics, written_topics
from millstream.tables.seeds import timestamp


class Kafka(Struct, frozen=True):
    cluster: Cluster
    trigger: str
    zone: str

    def source(self, topic: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return the options of Spark's Kafka source; `said` is what is said of the topic."""
        if began := said.get("began"):
            starting = {"startingOffsets": offsets_of({topic: began})}
        else:
            starting = self._starting(str(said.get("starting") or "earliest"))
        return (
            starting
            | sizes(said)
            | revealed(source_options(self.cluster, said.get("options") or {}, self.trigger))
        )

    def sink(self, producer: Mapping[str, Any]) -> dict[str, str]:
        return revealed(sink_options(self.cluster, producer, self.trigger))

    def producer(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings of our own producer, with a model's `producer` options."""
        return revealed(producer_config(self.cluster) | translated(given))

    def until(self, topic: str, said: Mapping[str, Any], ends: Mapping[int, int]) -> Ranges:
        """Return where, by partition, a new query would begin to read what is left up to some ends."""
        admin = admin_of(self.cluster)
        starting = str(said.get("starting") or "earliest")
        there = bounds(admin, [topic])
        timed = there and starting not in {"earliest", "latest"}
        starts = since(admin, topic, self._millis(starting)) if timed else said.get("began") or {}
        found: dict[int, tuple[int, int]] = {}
        for (_, number), (first, end) in there.items():
            stop = min(ends.get(number, first), end)
            start = stop if starting == "latest" else max(starts.get(number, first), first)
            found[number] = (min(start, stop), stop)
        return found

    def ends(self, topics: Iterable[str]) -> dict[str, int]:
        """Return how many records have ever come into each topic."""
        found = dict.fromkeys(topics, 0)
        for (topic, _), bound in bounds(admin_of(self.cluster), found).items() if found else ():
            found[topic] += bound.end
        return found

    def held(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        """Return where each topic ends, by partition."""
        found: dict[str, dict[int, int]] = {topic: {} for topic in topics}
        for (topic, number), bound in bounds(admin_of(self.cluster), found).items() if found else ():
            found[topic][number] = bound.end
        return found

    def create(self, topics: Sequence[Topic]) -> tuple[str, ...]:
        """Create those that are missing; return which."""
        return create_missing(admin_of(self.cluster), topics)

    def ids(self, topics: Sequence[str]) -> dict[str, str]:
        """Return Kafka's own id of each topic that is there."""
        return topic_ids(admin_of(self.cluster), topics) if topics else {}

    def _starting(self, said: str) -> dict[str, str]:
        if said in {"earliest", "latest"}:
            return {"startingOffsets": said}
        millis = str(self._millis(said))
        return {"startingTimestamp": millis, "startingOffsetsByTimestampStrategy": "latest"}

    def _millis(self, said: str) -> int:
        return round(timestamp(said, ZoneInfo(self.zone)).timestamp() * 1000)


def make_ready(job: Job, queries: Sequence[Query], broker: Starting | None, tell: Tell) -> Kafka:
    """Wait for the broker, and create the topics that are missing.

    Those of sources only on this machine's own broker: elsewhere they are somebody else's.
    """
    tell(Setup("topics"))
    target = job.project.target
    bootstrap = broker.ready().bootstrap_servers if broker else None
    cluster = cluster_of(target, bootstrap, job.project.root)
    admin = admin_of(cluster)
    read, written = read_topics(queries, job.project), written_topics(queries)
    if broker is None:
        _check_sources(admin, read)
    created = create_missing(admin, [*read, *written] if broker else written)
    filled = _fill(job, admin, read, tell) if broker else {}
    for each in differences(admin, [*read, *written]):
        tell(Told(each.diagnostic))
    said = [f"{len(created)} created"] if created else []
    said += [f"{len(filled)} filled with {sum(filled.values()):,} records"] if filled else []
    tell(Setup("topics", ", ".join(said), done=True))
    return Kafka(cluster, job.trigger or DEFAULT, str(target.settings.get("timezone", "UTC")))


def _fill(job: Job, admin: Admin, read: Sequence[Topic], tell: Tell) -> dict[str, int]:
    """Fill empty topics of sources from the project's generators, so that a first build shows rows."""
    made = {topic.topic for _, topic in generators_of(job.project).values()}
    names = [topic.name for topic in read if topic.name in made]

    def progress(topic: str, count: int) -> None:
        tell(Setup("topics", f"{count:,} records in {topic}"))

    return fill_empty(admin, job.project, names, progress=progress) if names else {}


def _check_sources(admin: Admin, read: Sequence[Topic]) -> None:
    there = admin.metadata().topics
    problems = [
        Diagnostic(
            "MS872",
            f"there is no topic '{topic.name}', which a source reads",
            None,
            "create it, mend `topic:` of the source, or look at `bootstrap_servers` of the target",
        )
        for topic in read
        if topic.name not in there
    ]
    if problems:
        raise MillstreamError(*problems)
