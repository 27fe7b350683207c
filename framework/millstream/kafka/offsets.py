"""The first and last offsets of topics' partitions."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from millstream.kafka.clients import PATIENCE, Admin


class OffsetBounds(NamedTuple):
    first: int
    """The offset of the oldest retained record."""
    end: int
    """The offset after the last record, by default of those whose transactions have ended."""


PartitionKey = tuple[str, int]
"""A topic and the number of one of its partitions."""


def topic_bounds(
    admin: Admin, topics: Iterable[str], isolation: IsolationLevel = IsolationLevel.READ_COMMITTED
) -> dict[PartitionKey, OffsetBounds]:
    """Return the bounds of every partition of those topics that exist."""
    existing = admin.metadata().topics
    partitions = [
        TopicPartition(topic, number)
        for topic in topics
        if topic in existing
        for number in existing[topic].partitions
    ]
    if not partitions:
        return {}
    first = _offsets(admin, partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
    end = _offsets(admin, partitions, OffsetSpec.latest(), isolation)  # type: ignore[no-untyped-call]
    return {partition: OffsetBounds(first[partition], end[partition]) for partition in first}


def offsets_since(admin: Admin, topic: str, milliseconds: int) -> dict[int, int]:
    """Return the offset of the first record at or after a time, by partition; the end if there is none."""
    numbers = admin.metadata().topics[topic].partitions
    partitions = [TopicPartition(topic, number) for number in numbers]
    starts = _offsets(admin, partitions, OffsetSpec.for_timestamp(milliseconds))
    end = _offsets(admin, partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]
    return {number: end[topic, number] if offset < 0 else offset for (_, number), offset in starts.items()}


def lacks_records(admin: Admin, topic: str, since: int | None) -> bool:
    """Whether records since a time in milliseconds may be gone from a topic; of any time, without one."""
    bounds = topic_bounds(admin, [topic])
    shortened = [number for (_, number), bound in bounds.items() if bound.first > 0]
    if since is None or not shortened:
        return bool(shortened)
    first, first_since = offsets_since(admin, topic, 0), offsets_since(admin, topic, since)
    # What is gone was written before the first record that is left.
    return any(first[number] == first_since[number] for number in shortened)


_NOT_READY = frozenset(
    (
        "UNKNOWN_TOPIC_OR_PART",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "REPLICA_NOT_AVAILABLE",
        "UNKNOWN_LEADER_EPOCH",
        "FENCED_LEADER_EPOCH",
        "OFFSET_NOT_AVAILABLE",
    )
)
"""Errors for a topic that was just created, or whose leader has changed; Java's clients retry them too."""


def _offsets(
    admin: Admin,
    partitions: Collection[TopicPartition],
    which: OffsetSpec,
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
) -> dict[PartitionKey, int]:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            futures = admin.client.list_offsets(
                dict.fromkeys(partitions, which),
                isolation_level=isolation,
                request_timeout=PATIENCE,
            )
            return {
                (partition.topic, partition.partition): future.result(2 * PATIENCE).offset
                for partition, future in futures.items()
            }
        except KafkaException as error:
            if error.args[0].name() not in _NOT_READY or time.monotonic() > deadline:
                raise admin.failure(error, "reading the ends of topics") from None
            time.sleep(0.1)
