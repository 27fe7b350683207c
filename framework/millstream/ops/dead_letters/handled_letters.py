"""Which dead letters were replayed or dropped: a compacted topic next to that of the letters.

A replay concerns a record, so all letters of the record have been handled; a drop concerns a letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Literal

import msgspec
from msgspec import Struct

from millstream.core.encoding import to_json
from millstream.kafka.clients import Admin
from millstream.kafka.consuming import all_records
from millstream.kafka.topics import TopicConfig, create_missing
from millstream.kafka.transactions import TransactionalProducer, open_producer
from millstream.ops.dead_letters.letter import DeadLetter
from millstream.outputs.kinds import HANDLED_SUFFIX

_CONFIG = {"cleanup.policy": "compact"}

Status = Literal["remaining", "replayed", "dropped"]


class HandledLetters(Struct, frozen=True):
    """What was done with the letters of a topic."""

    replayed: set[str]
    """Positions of original records."""
    dropped: set[str]
    """Ids of letters."""

    def status(self, letter: DeadLetter) -> Status:
        if letter.origin is not None and str(letter.origin) in self.replayed:
            return "replayed"
        return "dropped" if letter.id in self.dropped else "remaining"


class _Mark(Struct, frozen=True):
    """The key of a record."""

    status: Literal["replayed", "dropped"]
    id: str


def handled_topic(topic: str) -> str:
    return f"{topic}{HANDLED_SUFFIX}"


def create_handled(admin: Admin, topic: str) -> str:
    """Create the topic that records what is done with letters, if it is missing; return its name."""
    name = handled_topic(topic)
    create_missing(admin, [TopicConfig(name, 1, config=_CONFIG)])
    return name


def handling_producer(admin: Admin, topic: str) -> TransactionalProducer:
    """Return what handles the letters of a topic; whoever else replays or drops them is ended first."""
    return open_producer(admin, f"millstream.ops.dead_letters.{topic}")


def read_handled(admin: Admin, topic: str) -> HandledLetters:
    handled = HandledLetters(set(), set())
    for mark, is_set in _marks(admin, topic):
        those = handled.replayed if mark.status == "replayed" else handled.dropped
        (those.add if is_set else those.discard)(mark.id)
    return handled


def _marks(admin: Admin, topic: str) -> Iterator[tuple[_Mark, bool]]:
    for message in all_records(admin, [handled_topic(topic)]):
        yield msgspec.json.decode(message.key() or b"{}", type=_Mark), message.value() is not None


def replayed_record(letter: DeadLetter) -> tuple[bytes, bytes]:
    """Return the key and value of a record that says that a letter was replayed."""
    return _record(_Mark("replayed", str(letter.origin)), letter)


def dropped_record(letter: DeadLetter) -> tuple[bytes, bytes]:
    return _record(_Mark("dropped", letter.id), letter)


def _record(mark: _Mark, letter: DeadLetter) -> tuple[bytes, bytes]:
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    value = {"at": now, "partition": letter.partition, "offset": letter.offset}
    return to_json(mark), to_json(value)
