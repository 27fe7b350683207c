"""Reads records without a consumer group: offsets are never committed, and no other consumer is affected."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer, Message, TopicPartition

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import Admin, ClientErrors, consumer_of
from millstream.kafka.failures import cluster_error
from millstream.kafka.offsets import PartitionKey, topic_bounds

_BATCH = 1000
_WAIT = 0.2
_SILENCE = 15.0
"""Seconds without a record, although the topic must have some."""
_FURTHER = 20
"""Compaction leaves gaps: the factor by which the next attempt starts further back."""


def newest_records(
    admin: Admin, topics: Collection[str], count: int
) -> tuple[list[Message], dict[PartitionKey, int]]:
    """Return the newest records of each topic, oldest first, and the offsets after them."""
    ranges = topic_bounds(admin, topics)
    ends = {partition: end for partition, (_, end) in ranges.items()}
    back = count
    with _reading(admin) as (consumer, errors):
        while True:
            starts = {partition: max(first, end - back) for partition, (first, end) in ranges.items()}
            messages = list(_until(admin, consumer, errors, starts, ends))
            of_topic = {topic: [m for m in messages if m.topic() == topic] for topic in topics}
            short = any(len(those) < count for those in of_topic.values())
            if not short or all(starts[partition] == first for partition, (first, _) in ranges.items()):
                break
            back *= _FURTHER
    latest = [m for those in of_topic.values() for m in sorted(those, key=_age)[-count:] if count]
    return latest, ends


def _age(message: Message) -> tuple[int, int, int]:
    return (message.timestamp()[1], message.partition() or 0, message.offset() or 0)


def all_records(admin: Admin, topics: Collection[str]) -> Iterator[Message]:
    """Yield all records that the topics hold now."""
    ranges = topic_bounds(admin, topics)
    starts = {partition: first for partition, (first, _) in ranges.items()}
    ends = {partition: end for partition, (_, end) in ranges.items()}
    with _reading(admin) as (consumer, errors):
        yield from _until(admin, consumer, errors, starts, ends)


def record_at(admin: Admin, topic: str, partition: int, offset: int) -> Message | None:
    """Return the record at an offset; None if its topic no longer has it."""
    topic_partition = (topic, partition)
    bound = topic_bounds(admin, [topic]).get(topic_partition)
    if bound is None or not bound.first <= offset < bound.end:
        return None
    with _reading(admin) as (consumer, errors):
        return next(
            _until(admin, consumer, errors, {topic_partition: offset}, {topic_partition: offset + 1}), None
        )


def follow_records(admin: Admin, starts: Mapping[PartitionKey, int]) -> Iterator[Message]:
    """Yield records from these offsets on, without end."""
    with _reading(admin) as (consumer, errors):
        consumer.assign([TopicPartition(*partition, offset) for partition, offset in starts.items()])
        while True:
            yield from _without_errors(admin, errors, consumer.consume(_BATCH, _WAIT))


def first_times(admin: Admin, starts: Mapping[PartitionKey, int]) -> dict[PartitionKey, float]:
    """Return the timestamp of the first record from each offset on, in seconds since 1970."""
    times: dict[PartitionKey, float] = {}
    if not starts:
        return times
    with _reading(admin) as (consumer, errors):
        left = set(starts)
        consumer.assign([TopicPartition(*partition, offset) for partition, offset in starts.items()])
        last = time.monotonic()
        # Offsets that only belong to transactions have no record: the partition's end is reported.
        while left and time.monotonic() - last < _SILENCE:
            messages = consumer.consume(len(left), _WAIT)
            for message in messages:
                partition, last = (message.topic() or "", message.partition() or 0), time.monotonic()
                error = message.error()
                if partition in left and (error is None or error.name() == "_PARTITION_EOF"):
                    left.discard(partition)
                    consumer.incremental_unassign([TopicPartition(*partition)])
            for message in _without_errors(admin, errors, messages):
                partition = (message.topic() or "", message.partition() or 0)
                times.setdefault(partition, message.timestamp()[1] / 1000)
    return times


def first_offsets(admin: Admin, topics: Collection[str]) -> dict[PartitionKey, int]:
    return {partition: first for partition, (first, _) in topic_bounds(admin, topics).items()}


@contextmanager
def _reading(admin: Admin) -> Iterator[tuple[Consumer, ClientErrors]]:
    consumer, errors = consumer_of(admin.cluster)
    try:
        yield consumer, errors
    finally:
        consumer.close()


def _until(
    admin: Admin,
    consumer: Consumer,
    errors: ClientErrors,
    starts: Mapping[PartitionKey, int],
    ends: Mapping[PartitionKey, int],
) -> Iterator[Message]:
    unfinished = {partition for partition, start in starts.items() if start < ends[partition]}
    consumer.assign([TopicPartition(*partition, starts[partition]) for partition in unfinished])
    last = time.monotonic()
    while unfinished:
        messages = consumer.consume(_BATCH, _WAIT)
        for message in messages:
            partition, error = (message.topic() or "", message.partition() or 0), message.error()
            # The last offsets may belong to transactions, or to records that compaction removed.
            at_end = error is not None and error.name() == "_PARTITION_EOF"
            if at_end or (message.offset() or 0) >= ends[partition] - 1:
                unfinished.discard(partition)
        for message in list(_without_errors(admin, errors, messages)):
            if (message.offset() or 0) < ends[message.topic() or "", message.partition() or 0]:
                yield message
        if messages:
            last = time.monotonic()
        elif time.monotonic() - last > _SILENCE:
            if errors:
                raise cluster_error(admin.cluster, errors[-1], "reading records", errors)
            text = f"Kafka returned no records for {_SILENCE:.0f} seconds, although the topic has some"
            raise MillstreamError(Diagnostic("MS829", text, None, "see the log of the broker"))


def _without_errors(admin: Admin, errors: ClientErrors, messages: list[Message]) -> Iterator[Message]:
    for message in messages:
        error = message.error()
        if error is None:
            yield message
        elif error.name() not in {"_PARTITION_EOF", "GROUP_AUTHORIZATION_FAILED"} and not error.retriable():
            raise cluster_error(admin.cluster, error, f"reading records of '{message.topic()}'", errors)
