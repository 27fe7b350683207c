"""How far queries are behind the topics that they read, without a JVM.

A query's checkpoint says what it has read. On other file systems than this machine's, the consumer group that
a run commits says it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from msgspec import Struct

from millstream.kafka.clients import PATIENCE, Admin
from millstream.kafka.consuming import first_times
from millstream.kafka.groups import group_of
from millstream.kafka.offsets import Bounds, PartitionKey, bounds
from millstream.physical.values import Query
from millstream.project.names import Environment
from millstream.runner.checkpoints.positions import local_positions

Read = Mapping[str, Mapping[int, int]]
"""The next record to read, by topic and partition."""


class PartitionLag(Struct, frozen=True):
    partition: int
    read: int
    """The offset of the first record that is not read yet."""
    end: int
    records: int
    seconds: float | None
    """The age of the oldest record that is not read yet; 0 if there is none."""


class TopicLag(Struct, frozen=True):
    """The lag of a query at one of its topics."""

    query: str
    models: tuple[str, ...]
    topic: str
    known: bool
    """Whether the query has read the topic; otherwise, all of its records count."""
    records: int
    seconds: float | None
    partitions: tuple[PartitionLag, ...]


def lags(
    admin: Admin,
    project: str,
    queries: Sequence[Query],
    checkpoints: str,
    environment: Environment | None = None,
) -> list[TopicLag]:
    """Return the lag of each query at each topic that it reads."""
    # Positions first: a record that is read meanwhile then counts as lag, and lag is never negative.
    groups = {query.name: group_of(project, query.name, environment) for query in queries}
    read = {query.name: _positions(admin, groups[query.name], query, checkpoints) for query in queries}
    held = bounds(admin, sorted({topic for query in queries for topic in _topics(query)}))
    starts = {
        query.name: {at: _start(read[query.name], at, held[at]) for at in held if at[0] in _topics(query)}
        for query in queries
    }
    oldest: dict[PartitionKey, int] = {}
    wanted = {(at, start) for own in starts.values() for at, start in own.items() if start < held[at].end}
    times: dict[tuple[PartitionKey, int], float] = {}
    while wanted:
        # One consumer reads each partition from one offset at a time.
        oldest = dict(wanted)
        found = first_times(admin, oldest)
        times |= {(at, oldest[at]): then for at, then in found.items()}
        wanted -= set(oldest.items())
    return [
        _lag(query, topic, starts[query.name], held, times, known=bool(read[query.name].get(topic)))
        for query in queries
        for topic in _topics(query)
    ]


def _topics(query: Query) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source.topic for source in query.sources if source.topic))


def _start(read: Read, at: PartitionKey, held: Bounds) -> int:
    topic, partition = at
    return min(max(read.get(topic, {}).get(partition, held.first), held.first), held.end)


def _lag(
    query: Query,
    topic: str,
    starts: Mapping[PartitionKey, int],
    held: Mapping[PartitionKey, Bounds],
    times: Mapping[tuple[PartitionKey, int], float],
    *,
    known: bool,
) -> TopicLag:
    now, partitions = time.time(), []
    for at in sorted(at for at in starts if at[0] == topic):
        behind = held[at].end - starts[at]
        then = times.get((at, starts[at]))
        age = (max(0.0, now - then) if then is not None else None) if behind else 0.0
        partitions.append(PartitionLag(at[1], starts[at], held[at].end, behind, age))
    ages = [each.seconds for each in partitions if each.seconds is not None]
    models = tuple(name.partition(".")[2] for name in query.stored)
    total = sum(each.records for each in partitions)
    return TopicLag(query.name, models, topic, known, total, max(ages, default=None), tuple(partitions))


def _positions(admin: Admin, group: str, query: Query, checkpoints: str) -> Read:
    read = local_positions(checkpoints, query.name)
    return _committed(admin, group, _topics(query)) if read is None else read


def _committed(admin: Admin, group: str, topics: Collection[str]) -> Read:
    wanted = ConsumerGroupTopicPartitions(group)
    found: dict[str, dict[int, int]] = {}
    try:
        (future,) = admin.client.list_consumer_group_offsets([wanted]).values()
        committed = future.result(PATIENCE).topic_partitions
    except KafkaException as error:
        raise admin.failure(error, f"reading the offsets of the consumer group {group}") from None
    for each in committed or ():
        if each.topic in topics and each.offset >= 0:
            found.setdefault(each.topic, {})[each.partition] = each.offset
    return found
