"""What Kafka itself says of the topics that rebuilds would read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from millstream.kafka.clients import Admin
from millstream.kafka.offsets import bounds
from millstream.kafka.topics import configs
from millstream.review.replay import Statistics, TopicFacts

_WANTED = ("cleanup.policy", "retention.ms", "retention.bytes")


def asked(admin: Admin, known: Statistics, topics: Collection[str]) -> Statistics:
    """Replace what settings say of topics by what the cluster has."""
    there = sorted(set(topics) & set(admin.metadata().topics))
    found: dict[str, TopicFacts] = dict(known.topics)
    records: dict[str, int] = {}
    for (topic, _), bound in bounds(admin, there).items():
        records[topic] = records.get(topic, 0) + bound.end - bound.first
    for topic, config in configs(admin, there).items():
        said: Mapping[str, str] = {name: config[name] for name in _WANTED if name in config}
        before = found.get(topic, TopicFacts())
        found[topic] = replace(before, config=said, records=records.get(topic), asked=True)
    for topic in set(topics) - set(there):
        found[topic] = replace(found.get(topic, TopicFacts()), config={}, records=0, asked=True)
    return replace(known, topics=found)
