"""What a rebuild of a query does: which records it reads again, and how long that takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from millstream.compile.manifest import Manifest
from millstream.core.node_id import NodeId
from millstream.plan.durations import format_duration
from millstream.queries.commands import APPLY
from millstream.queries.physical_plan import PhysicalPlan
from millstream.queries.values import Query, SourceRead
from millstream.results.run_results import RunResults
from millstream.review.outputs import plain_names
from millstream.review.values import QueryRebuild, ReplayRead
from millstream.sources.registry import source_declaration

_ENOUGH = 1000
"""The minimum number of records for a meaningful speed."""


class TopicFacts(Struct, frozen=True):
    """Facts about a topic, from settings or from Kafka."""

    config: Mapping[str, str] = {}
    starting: str = "earliest"
    records: int | None = None
    from_kafka: bool = False
    """The facts are from Kafka."""


class ReplayFigures(Struct, frozen=True):
    """The figures behind estimates."""

    topics: Mapping[str, TopicFacts] = {}
    """By name."""
    rows_per_second: Mapping[NodeId, float] = {}
    """The rate of each source, by id."""
    speed: Mapping[str, float] = {}
    """How many rows each query has read per second."""


def collect_figures(
    manifest: Manifest, rates: Mapping[NodeId, float], results: RunResults | None
) -> ReplayFigures:
    """Return what is known from the project and its last build."""
    topics: dict[str, TopicFacts] = {}
    for node in manifest.nodes.values():
        config = node.config
        sink = node.sink
        if (node.kind == "source" and "topic" in config) or sink is not None:
            settings = {str(k): str(v) for k, v in (config.get("topic_config") or {}).items()}
            names = [sink.topic] if sink is not None else str(config.get("topic") or node.name).split(", ")
            for name in names:
                topics[name] = TopicFacts(settings, str(config.get("starting") or "earliest"))
    speed = {
        result.query: result.rows_read / result.seconds
        for result in (results.results if results else ())
        if result.rows_read >= _ENOUGH and result.seconds > 0
    }
    return ReplayFigures(topics, rates, speed)


def plan_rebuild(query: Query, others: PhysicalPlan, statistics: ReplayFigures) -> QueryRebuild:
    reads = tuple(_read(t, read.relation, statistics) for read in query.topic_reads for t in read.topics)
    reads = (*reads, *map(_read_source, query.source_reads))
    records = [read.records for read in reads]
    speed = statistics.speed.get(query.name)
    total = None if None in records or not records else sum(number or 0 for number in records)
    # Models of other queries that read its topics receive the records again.
    stored_here = set(query.stored)
    again = [
        f"{topic} (read by {', '.join(plain_names(reader.stored))})"
        for topic in query.topics
        for reader in others.queries
        if any(topic in read.topics and read.relation in stored_here for read in reader.topic_reads)
    ]
    read_back = {text.partition(" ")[0] for text in again}
    return QueryRebuild(
        command=APPLY,
        models=plain_names(query.stored),
        reads=reads,
        sent_again=(*again, *(topic for topic in query.topics if topic not in read_back)),
        tables=plain_names(table.model for table in query.tables),
        seconds=round(total / speed, 0) if total is not None and speed else None,
    )


def _read(topic: str, relation: NodeId, statistics: ReplayFigures) -> ReplayRead:
    facts = statistics.topics.get(topic, TopicFacts())
    start = {"earliest": "its start", "latest": "its end"}.get(facts.starting, facts.starting)
    records = facts.records
    retention = _millis(facts.config.get("retention.ms"))
    if records is None and retention and (rate := statistics.rows_per_second.get(relation)):
        records = round(rate * retention / 1000)
    missing = facts.from_kafka and not records
    holds = "nothing: it is missing or empty" if missing else _holds(facts.config, retention)
    return ReplayRead(topic, start, holds, records)


def _read_source(read: SourceRead) -> ReplayRead:
    declared = source_declaration(read.kind)
    start = "its start" if declared.replayable else "now on: what was read before can't be read again"
    if read.removes_read:
        start = f"what it still has: {declared.unit} that were read are removed"
    return ReplayRead(read.title, start, "", kind=declared.title)


def _holds(config: Mapping[str, Any], retention: int | None) -> str:
    policy = str(config.get("cleanup.policy", ""))
    parts = []
    if "compact" in policy:
        parts.append("only the newest record of each key: older ones can't be processed again")
    if retention is not None and "retention.ms" in config and policy != "compact":
        parts.append("all records" if retention < 0 else f"records of the last {format_duration(retention)}")
    if "retention.bytes" in config and str(config["retention.bytes"]) != "-1":
        parts.append(f"at most {config['retention.bytes']} bytes of each partition")
    return ", ".join(parts)


def _millis(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
