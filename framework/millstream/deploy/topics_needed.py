"""The topics that a project's queries read and write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.core.node_id import NodeId
from millstream.kafka.topics import TopicConfig, source_topics
from millstream.outputs.kinds import PROCESSING_TIME
from millstream.project.values import Project
from millstream.queries.values import Query

_ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1)}
"""By default, Kafka refuses records whose time is an hour ahead, which would stop a query for good."""


def written_topics(queries: Iterable[Query]) -> list[TopicConfig]:
    """Return the topics of sinks and dead letters."""
    topics: dict[str, TopicConfig] = {}
    for query in queries:
        for output in query.sinks:
            options, topic = output.options, output.topic
            config = {name: str(value) for name, value in (options.get("topic_config") or {}).items()}
            if query.output_mode == "update" and not output.sink.changes:
                # Only the newest record of a key counts.
                config = {"cleanup.policy": "compact"} | config
            sent_now = options.get("timestamp") == PROCESSING_TIME
            defaults = {} if sent_now else _ANY_TIME
            topics[topic] = TopicConfig(
                topic, options.get("partitions"), options.get("replication"), config, defaults
            )
        for topic in query.dead_letter_topics:
            topics.setdefault(topic, TopicConfig(topic))
    return list(topics.values())


def read_topics(queries: Sequence[Query], project: Project) -> list[TopicConfig]:
    read = {source.relation for query in queries for source in query.sources}
    topics = [topic for topic in project.topics.values() if NodeId("source", topic.id) in read]
    return list({config.name: config for topic in topics for config in source_topics(topic)}.values())
