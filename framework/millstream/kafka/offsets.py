"""Where the partitions of topics begin and end."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from millstream.kafka.clients import PATIENCE, Admin


class Bounds(NamedTuple):
    first: int
    """The offset of the oldest record that is kept."""
    end: int
    """The offset that the next record will have."""


Place = tuple[str, int]
"""A topic and a partition of it."""


def bounds(admin: Admin, topics: Iterable[str]) -> dict[Place, Bounds]:
    """Return the bounds of every partition of those topics that exist."""
    there = admin.metadata().topics
    places = [
        TopicPartition(topic, number)
        for topic in topics
        if topic in there
        for number in there[topic].partitions
    ]
    if not places:
        return {}
    first = _offsets(admin, places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
    end = _offsets(admin, places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
    return {place: Bounds(first[place], end[place]) for place in first}


def since(admin: Admin, topic: str, milliseconds: int) -> dict[int, int]:
    """Return by partition the offset of the first record that is not older; the end where none is."""
    numbers = admin.metadata().topics[topic].partitions
    places = [TopicPartition(topic, number) for number in numbers]
    found = _offsets(admin, places, OffsetSpec.for_timestamp(milliseconds))
    end = _offsets(admin, places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
    return {number: end[topic, number] if at < 0 else at for (_, number), at in found.items()}


_SOON = frozenset(("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PART"))
"""What brokers say of a topic that was created a moment ago."""


def _offsets(admin: Admin, places: Collection[TopicPartition], which: OffsetSpec) -> dict[Place, int]:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            futures = admin.client.list_offsets(dict.fromkeys(places, which), request_timeout=PATIENCE)
            return {
                (place.topic, place.partition): future.result(2 * PATIENCE).offset
                for place, future in futures.items()
            }
        except KafkaException as error:
            if error.args[0].name() not in _SOON or time.monotonic() > deadline:
                raise admin.failure(error, "ends of topics are asked for") from None
            time.sleep(0.1)
