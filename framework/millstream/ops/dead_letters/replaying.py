"""Sends original records back to their topics, each once.

The records and the marks that say so are in the same transaction. A new replay first ends the transaction of
an earlier one, by its id, and only then reads the marks: so whatever was committed is known, and whatever was
not is never seen by readers of committed records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Literal
from zoneinfo import ZoneInfo

from confluent_kafka import Producer
from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import Admin
from millstream.kafka.consuming import record_at
from millstream.kafka.producing import TopicLimits, limits_of
from millstream.kafka.topics import topic_configs
from millstream.ops.dead_letters.handled_letters import (
    HandledLetters,
    create_handled,
    handling_producer,
    read_handled,
    replayed_record,
)
from millstream.ops.dead_letters.letter import DeadLetter, with_original
from millstream.ops.dead_letters.letter_selection import letters_of
from millstream.ops.dead_letters.read_again import ReadAgain
from millstream.outputs.kinds import OWN_HEADERS

REPLAYED = f"{OWN_HEADERS}replayed"
"""The header of a replayed record: the position of the original one."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
TOGETHER = 500
"""Records of a transaction."""

Fate = Literal["due", "same record", "replayed", "dropped", "row", "line", "lost"]
"""What a replay does with a letter: its record is sent, was sent for another letter, was handled before, or
there is none: it is a row of a model, a line of a file, or the letter was cut and its topic no longer has
the record."""
Chosen = Callable[[DeadLetter], bool]


class LetterReplay(Struct, frozen=True):
    """What a replay of a topic's letters does."""

    topic: str
    letters: dict[Fate, int]
    records: dict[str, int]
    """How many records are sent to each topic."""
    read_again: dict[str, dict[str, int]] = {}
    """By topic: how many of them each model has read after their letters were sent."""


def plan_replay(
    admin: Admin, topic: str, chosen: Chosen, *, force: bool, readings: Sequence[ReadAgain] = ()
) -> LetterReplay:
    """Return what a replay would do, without doing it; `readings` is what models have read again."""
    fates, records = Counter[Fate](), Counter[str]()
    again: dict[str, Counter[str]] = {}
    handled = read_handled(admin, topic)
    letters = filter(chosen, letters_of(admin, topic))
    for letter, fate in _fates(admin, letters, handled, force=force):
        fates[fate] += 1
        if fate == "due":
            records[_topic_of(letter)] += 1
            models = (reading.model for reading in readings if reading.has(letter))
            again.setdefault(_topic_of(letter), Counter()).update(models)
    return LetterReplay(
        topic, dict(fates), dict(records), {name: dict(counts) for name, counts in again.items()}
    )


def replay_letters(
    admin: Admin,
    topic: str,
    chosen: Chosen,
    zone: ZoneInfo,
    *,
    force: bool,
    progress: Callable[[int], None] | None = None,
) -> LetterReplay:
    """Send the records of letters back to their topics; `progress` is called with how many were sent."""
    marks = create_handled(admin, topic)
    sending = handling_producer(admin, topic)
    fates, records = Counter[Fate](), Counter[str]()
    letters = filter(chosen, letters_of(admin, topic))
    due = _due(admin, letters, read_handled(admin, topic), fates, force=force)
    destinations = _Destinations(admin, zone)
    while some := list(islice(due, TOGETHER)):
        with sending.transaction() as producer:
            for letter in some:
                destinations.send(producer, letter)
                key, value = replayed_record(letter)
                _produce(producer, marks, value, key)
        for letter in some:
            records[_topic_of(letter)] += 1
        if progress is not None:
            progress(sum(records.values()))
    if records:
        sending.settle()
    return LetterReplay(topic, dict(fates), dict(records))


def _due(
    admin: Admin, letters: Iterable[DeadLetter], handled: HandledLetters, fates: Counter[Fate], *, force: bool
) -> Iterator[DeadLetter]:
    for letter, fate in _fates(admin, letters, handled, force=force):
        fates[fate] += 1
        if fate == "due":
            yield letter


def _fates(
    admin: Admin, letters: Iterable[DeadLetter], handled: HandledLetters, *, force: bool
) -> Iterator[tuple[DeadLetter, Fate]]:
    """Yield what a replay does with each letter; those that were cut get their records back."""
    sent: set[str] = set()
    for letter in letters:
        fate = _fate(letter, handled, sent, force=force)
        restored = _restored(admin, letter) if fate == "due" else letter
        if restored is None:
            yield letter, "lost"
            continue
        if fate == "due":
            sent.add(str(letter.origin))
        yield restored, fate


def _restored(admin: Admin, letter: DeadLetter) -> DeadLetter | None:
    """Return a letter; if it was cut, with the record as its topic has it, and None if it no longer does."""
    if not letter.cut or letter.origin is None:
        return letter
    origin = letter.origin
    original = record_at(admin, origin.topic, origin.partition, origin.offset)
    return None if original is None else with_original(letter, original)


def _fate(letter: DeadLetter, handled: HandledLetters, sent: set[str], *, force: bool) -> Fate:
    if letter.origin is None:
        return "line" if letter.file else "row"
    status = handled.status(letter)
    if status != "remaining" and not force:
        return status
    return "same record" if str(letter.origin) in sent else "due"


def _topic_of(letter: DeadLetter) -> str:
    assert letter.origin is not None, "only letters of records are due"
    return letter.origin.topic


class _Destinations:
    """The topics that letters come from, as they are now."""

    def __init__(self, admin: Admin, zone: ZoneInfo) -> None:
        self._admin = admin
        self._zone = zone
        self._partitions: dict[str, frozenset[int]] = {}
        self._limits: dict[str, TopicLimits] = {}

    def send(self, producer: Producer, letter: DeadLetter) -> None:
        """Send the original key, value and headers to the original partition, if there still is one."""
        origin = letter.origin
        assert origin is not None, "only letters of records are due"
        if origin.topic not in self._partitions:
            self._look_up(origin.topic)
        has_partition = origin.partition in self._partitions[origin.topic]
        headers: list[tuple[str, str | bytes | None]] = [*letter.headers, (REPLAYED, str(origin).encode())]
        time = letter.milliseconds
        time = header_millis(origin.timestamp, self._zone) if time is None else time
        limits = self._limits[origin.topic]
        # 0 is the current time: Kafka drops records beyond its retention, and refuses future times.
        time = time if time is not None and limits.oldest < time < limits.newest else 0
        partition = origin.partition if has_partition else -1
        _produce(producer, origin.topic, letter.value, letter.key, partition, headers, time)

    def _look_up(self, topic: str) -> None:
        metadata = self._admin.metadata().topics.get(topic)
        if metadata is None:
            message = f"topic '{topic}', from which the dead letters come, does not exist"
            raise MillstreamError(Diagnostic("MS827", message, None, "create it, or drop the letters"))
        self._partitions[topic] = frozenset(metadata.partitions)
        self._limits[topic] = limits_of(topic_configs(self._admin, [topic]).get(topic, {}))


def header_millis(text: str, zone: ZoneInfo) -> int | None:
    """Return the time of a record as Spark writes it in a letter's header; None if it is not a time."""
    time = time_in(text, zone)
    return None if time is None else (time.astimezone(timezone.utc) - _EPOCH) // timedelta(milliseconds=1)


def time_in(text: str, zone: ZoneInfo) -> datetime | None:
    """Return a time that Spark wrote; without an offset, it is in the zone of the target."""
    try:
        time = datetime.fromisoformat(_with_six_digits(text))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=zone)


def _with_six_digits(text: str) -> str:
    """Return a time whose fraction has six digits, which Python 3.10 needs; Spark leaves out final zeros."""
    seconds, dot, fraction = text.partition(".")
    return f"{seconds}.{fraction:0<6}" if dot else seconds


def _produce(
    producer: Producer,
    topic: str,
    value: bytes | None,
    key: bytes | None,
    partition: int = -1,
    headers: list[tuple[str, str | bytes | None]] | None = None,
    time: int = 0,
) -> None:
    while True:
        try:
            producer.produce(topic, value, key, partition, timestamp=time, headers=headers)
        except BufferError:
            producer.poll(0.1)
        else:
            producer.poll(0)
            return
