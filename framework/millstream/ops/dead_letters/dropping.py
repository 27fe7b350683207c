"""Drops letters: they stay in their topic, but count as handled; on request, Kafka deletes the oldest ones.

Kafka deletes only a prefix of a partition. So letters are deleted up to the first one that remains.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from confluent_kafka import KafkaException, TopicPartition
from msgspec import Struct

from millstream.kafka.clients import PATIENCE, Admin
from millstream.kafka.offsets import topic_bounds
from millstream.ops.dead_letters.handled_letters import (
    create_handled,
    dropped_record,
    handling_producer,
    read_handled,
)
from millstream.ops.dead_letters.letter import DeadLetter
from millstream.ops.dead_letters.letter_selection import letters_of

_TOGETHER = 1000
Chosen = Callable[[DeadLetter], bool]


class LetterDrop(Struct, frozen=True):
    """What a drop of a topic's letters does."""

    topic: str
    letters: int
    """How many letters are marked as dropped."""
    deleted: int = 0
    """How many records Kafka deletes."""


def plan_drop(admin: Admin, topic: str, chosen: Chosen, *, delete: bool) -> LetterDrop:
    """Return what a drop would do, without doing it."""
    handled = read_handled(admin, topic)
    count, ends = 0, _Prefixes(admin, topic)
    for letter in letters_of(admin, topic):
        remains = handled.status(letter) == "remaining"
        count += remains and chosen(letter)
        if remains and not chosen(letter):
            ends.stop_at(letter)
    return LetterDrop(topic, count, ends.records if delete else 0)


def drop_letters(admin: Admin, topic: str, chosen: Chosen, *, delete: bool) -> LetterDrop:
    """Mark letters as dropped; with `delete`, remove the oldest letters up to the first that remains."""
    marks = create_handled(admin, topic)
    sending = handling_producer(admin, topic)
    handled = read_handled(admin, topic)
    due = (
        letter
        for letter in letters_of(admin, topic)
        if chosen(letter) and handled.status(letter) == "remaining"
    )
    count = 0
    while some := list(islice(due, _TOGETHER)):
        with sending.transaction() as producer:
            for letter in some:
                key, value = dropped_record(letter)
                producer.produce(marks, value, key)
        count += len(some)
    if count:
        sending.settle()
    return LetterDrop(topic, count, _delete(admin, topic) if delete else 0)


def _delete(admin: Admin, topic: str) -> int:
    handled, ends = read_handled(admin, topic), _Prefixes(admin, topic)
    for letter in letters_of(admin, topic):
        if handled.status(letter) == "remaining":
            ends.stop_at(letter)
    offsets = [TopicPartition(topic, number, end) for number, end in ends.ends.items()]
    try:
        for future in admin.client.delete_records(offsets, request_timeout=PATIENCE).values():
            future.result(2 * PATIENCE)
    except KafkaException as error:
        raise admin.failure(error, f"deleting records of '{topic}'") from None
    return ends.records


class _Prefixes:
    """For each partition of a topic, the offset of the first letter that remains."""

    def __init__(self, admin: Admin, topic: str) -> None:
        by_partition = {number: bound for (_, number), bound in topic_bounds(admin, [topic]).items()}
        self._firsts = {number: bound.first for number, bound in by_partition.items()}
        self.ends = {number: bound.end for number, bound in by_partition.items()}

    def stop_at(self, letter: DeadLetter) -> None:
        """Keep a letter and all later ones of its partition."""
        self.ends[letter.partition] = min(self.ends[letter.partition], letter.offset)

    @property
    def records(self) -> int:
        """How many records precede them."""
        return sum(end - self._firsts[number] for number, end in self.ends.items())
