"""How far queries are behind the topics that they read, without a JVM.

A query's checkpoint says what it has read. On other file systems than this machine's, the consumer group that
a run commits says it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from msgspec import Struct, field

from millstream.deploy.checkpoints.files import checkpoint_folder, read_record, read_so_far
from millstream.kafka.clients import PATIENCE, Admin
from millstream.kafka.consuming import first_times
from millstream.kafka.groups import group_of
from millstream.kafka.offsets import OffsetBounds, PartitionKey, topic_bounds
from millstream.project.folders import local_path
from millstream.project.values import Project
from millstream.queries.values import Query
from millstream.sources.positions import Positions, ends_of
from millstream.sources.registry import source_declaration
from millstream.sources.topic.positions import offsets_in
from millstream.stores.files import LocalFiles

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
    """The topic, or the name of another source."""
    is_read: bool = field(name="known")
    """Whether the query has read the topic; otherwise, all of its records count."""
    records: int
    seconds: float | None
    partitions: tuple[PartitionLag, ...] = ()
    unit: str = "records"
    """What is counted: of some sources, files."""


def topic_lags(
    admin: Admin,
    project: Project,
    queries: Sequence[Query],
    checkpoints: str,
) -> list[TopicLag]:
    """Return the lag of each query at each topic and other source that it reads."""
    # Positions first: a record that is read meanwhile then counts as lag, and lag is never negative.
    groups = {
        query.name: group_of(project.settings.name, query.name, project.target.environment)
        for query in queries
    }
    read = {query.name: _positions(admin, groups[query.name], query, checkpoints) for query in queries}
    held = topic_bounds(admin, sorted({topic for query in queries for topic in query.topics_read}))
    starts = {
        query.name: {
            key: _start(read[query.name], key, held[key]) for key in held if key[0] in query.topics_read
        }
        for query in queries
    }
    oldest: dict[PartitionKey, int] = {}
    positions = {
        (key, start) for offsets in starts.values() for key, start in offsets.items() if start < held[key].end
    }
    times: dict[tuple[PartitionKey, int], float] = {}
    while positions:
        # One consumer reads each partition from one offset at a time.
        oldest = dict(positions)
        read_times = first_times(admin, oldest)
        times |= {(key, oldest[key]): then for key, then in read_times.items()}
        positions -= set(oldest.items())
    return [
        lag
        for query in queries
        for lag in (
            *(
                _lag(query, topic, starts[query.name], held, times, is_read=bool(read[query.name].get(topic)))
                for topic in query.topics_read
            ),
            *_source_lags(project, query, checkpoints),
        )
    ]


def _source_lags(project: Project, query: Query, checkpoints: str) -> Iterator[TopicLag]:
    """Yield the lag at sources that are no topics, if the checkpoint is on this machine."""
    positions = local_positions(checkpoints, query.name) if query.source_reads else None
    if positions is None:
        return
    ends = ends_of(project, [source.stream for source in query.source_reads])
    models = tuple(name.name for name in query.stored)
    for source in query.source_reads:
        position, end = positions.get(source.stream), ends[source.stream]
        behind = end.since(None) if position is None else position.behind(end)
        unit = source_declaration(source.kind).unit
        seconds = None if behind else 0.0
        yield TopicLag(query.name, models, source.title, position is not None, behind, seconds, unit=unit)


def _start(read: Read, key: PartitionKey, held: OffsetBounds) -> int:
    topic, partition = key
    return min(max(read.get(topic, {}).get(partition, held.first), held.first), held.end)


def _lag(
    query: Query,
    topic: str,
    starts: Mapping[PartitionKey, int],
    held: Mapping[PartitionKey, OffsetBounds],
    times: Mapping[tuple[PartitionKey, int], float],
    *,
    is_read: bool,
) -> TopicLag:
    now, partitions = time.time(), []
    for key in sorted(key for key in starts if key[0] == topic):
        behind = held[key].end - starts[key]
        then = times.get((key, starts[key]))
        age = (max(0.0, now - then) if then is not None else None) if behind else 0.0
        partitions.append(PartitionLag(key[1], starts[key], held[key].end, behind, age))
    ages = [partition.seconds for partition in partitions if partition.seconds is not None]
    models = tuple(name.name for name in query.stored)
    total = sum(partition.records for partition in partitions)
    return TopicLag(query.name, models, topic, is_read, total, max(ages, default=None), tuple(partitions))


def _positions(admin: Admin, group: str, query: Query, checkpoints: str) -> Read:
    read = local_positions(checkpoints, query.name)
    return _committed(admin, group, query.topics_read) if read is None else offsets_in(read)


def _committed(admin: Admin, group: str, topics: Collection[str]) -> Read:
    request = ConsumerGroupTopicPartitions(group)
    offsets: dict[str, dict[int, int]] = {}
    try:
        (future,) = admin.client.list_consumer_group_offsets([request]).values()
        committed = future.result(PATIENCE).topic_partitions
    except KafkaException as error:
        raise admin.failure(error, f"reading the offsets of the consumer group {group}") from None
    for position in committed or ():
        if position.topic in topics and position.offset >= 0:
            offsets.setdefault(position.topic, {})[position.partition] = position.offset
    return offsets


def local_positions(checkpoints: str, query: str) -> Positions | None:
    """Return up to where a query has read its streams; None if checkpoints are elsewhere."""
    if local_path(checkpoints) is None:
        return None
    files, folder = LocalFiles(), checkpoint_folder(checkpoints, query)
    record = read_record(files, folder)
    return {} if record is None else read_so_far(files, folder.spark(record), record.signature.topics)
