"""Reads facts from Kafka about the topics that rebuilds would read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from millstream.kafka.clients import Admin
from millstream.kafka.offsets import topic_bounds
from millstream.kafka.topics import topic_configs
from millstream.review.rebuild_cost import ReplayFigures, TopicFacts

_CONFIGS = ("cleanup.policy", "retention.ms", "retention.bytes")


def with_topic_facts(admin: Admin, statistics: ReplayFigures, topics: Collection[str]) -> ReplayFigures:
    """Replace the facts from settings by those of the cluster."""
    existing = sorted(set(topics) & set(admin.metadata().topics))
    facts: dict[str, TopicFacts] = dict(statistics.topics)
    records: dict[str, int] = {}
    for (topic, _), bound in topic_bounds(admin, existing).items():
        records[topic] = records.get(topic, 0) + bound.end - bound.first
    for topic, config in topic_configs(admin, existing).items():
        selected: Mapping[str, str] = {name: config[name] for name in _CONFIGS if name in config}
        before = facts.get(topic, TopicFacts())
        facts[topic] = replace(before, config=selected, records=records.get(topic), from_kafka=True)
    for topic in set(topics) - set(existing):
        facts[topic] = replace(facts.get(topic, TopicFacts()), config={}, records=0, from_kafka=True)
    return replace(statistics, topics=facts)
