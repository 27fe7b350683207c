"""Records are read without a group: no offset is ever committed, and nobody else is disturbed."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer, Message, TopicPartition

from millstream.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import Admin, Heard, consumer_of
from millstream.kafka.failures import failure
from millstream.kafka.offsets import Place, bounds

_BATCH = 1000
_WAIT = 0.2
_SILENCE = 15.0
"""Seconds without a record, where there must be some."""
_FURTHER = 20
"""Compaction leaves gaps: how much further back the second look goes."""


def newest(admin: Admin, topics: Collection[str], count: int) -> tuple[list[Message], dict[Place, int]]:
    """Return the newest records of each topic, oldest first, and where what comes later begins."""
    found = bounds(admin, topics)
    ends = {place: end for place, (_, end) in found.items()}
    back = count
    with _reading(admin) as (consumer, heard):
        while True:
            starts = {place: max(first, end - back) for place, (first, end) in found.items()}
            messages = list(_until(admin, consumer, heard, starts, ends))
            of_topic = {topic: [m for m in messages if m.topic() == topic] for topic in topics}
            short = any(len(those) < count for those in of_topic.values())
            if not short or all(starts[place] == first for place, (first, _) in found.items()):
                break
            back *= _FURTHER
    kept = [m for those in of_topic.values() for m in sorted(those, key=_age)[-count:] if count]
    return kept, ends


def _age(message: Message) -> tuple[int, int, int]:
    return (message.timestamp()[1], message.partition() or 0, message.offset() or 0)


def everything(admin: Admin, topics: Collection[str]) -> Iterator[Message]:
    """Yield what the topics hold now."""
    found = bounds(admin, topics)
    starts = {place: first for place, (first, _) in found.items()}
    with _reading(admin) as (consumer, heard):
        yield from _until(admin, consumer, heard, starts, {place: end for place, (_, end) in found.items()})


def following(admin: Admin, starts: Mapping[Place, int]) -> Iterator[Message]:
    """Yield records from these places on, as they come, without end."""
    with _reading(admin) as (consumer, heard):
        consumer.assign([TopicPartition(*place, offset) for place, offset in starts.items()])
        while True:
            yield from _good(admin, heard, consumer.consume(_BATCH, _WAIT))


def beginnings(admin: Admin, topics: Collection[str]) -> dict[Place, int]:
    return {place: first for place, (first, _) in bounds(admin, topics).items()}


@contextmanager
def _reading(admin: Admin) -> Iterator[tuple[Consumer, Heard]]:
    consumer, heard = consumer_of(admin.cluster)
    try:
        yield consumer, heard
    finally:
        consumer.close()


def _until(
    admin: Admin, consumer: Consumer, heard: Heard, starts: Mapping[Place, int], ends: Mapping[Place, int]
) -> Iterator[Message]:
    left = {place for place, start in starts.items() if start < ends[place]}
    consumer.assign([TopicPartition(*place, starts[place]) for place in left])
    last = time.monotonic()
    while left:
        messages = consumer.consume(_BATCH, _WAIT)
        for message in messages:
            place, error = (message.topic() or "", message.partition() or 0), message.error()
            # The last offsets may be those of transactions, or of records that compaction took away.
            at_end = error is not None and error.name() == "_PARTITION_EOF"
            if at_end or (message.offset() or 0) >= ends[place] - 1:
                left.discard(place)
        good = [m for m in _good(admin, heard, messages) if _before(m, ends)]
        yield from good
        if messages:
            last = time.monotonic()
        elif time.monotonic() - last > _SILENCE:
            raise _silent(admin, heard)


def _before(message: Message, ends: Mapping[Place, int]) -> bool:
    return (message.offset() or 0) < ends[message.topic() or "", message.partition() or 0]


def _good(admin: Admin, heard: Heard, messages: list[Message]) -> Iterator[Message]:
    for message in messages:
        error = message.error()
        if error is None:
            yield message
        elif error.name() not in {"_PARTITION_EOF", "GROUP_AUTHORIZATION_FAILED"} and not error.retriable():
            raise failure(admin.cluster, error, f"records of '{message.topic()}' are read", heard.errors)


def _silent(admin: Admin, heard: Heard) -> MillstreamError:
    if heard.errors:
        return failure(admin.cluster, heard.errors[-1], "records are read", heard.errors)
    message = f"Kafka gives no records for {_SILENCE:.0f} seconds, though there are some"
    return MillstreamError(Diagnostic("MS829", message, None, "see the log of the broker"))
