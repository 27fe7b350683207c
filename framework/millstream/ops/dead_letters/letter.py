"""A dead letter as a value: the original record, where it comes from, and why it failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone

from confluent_kafka import Message
from msgspec import Struct
from msgspec.structs import replace

from millstream.kafka.topic_decoding import bytes_of
from millstream.outputs.kinds import BATCH, OWN_HEADERS
from millstream.queries.dead_letters import (
    CUT,
    FILE,
    LINE,
    MODEL,
    OFFSET,
    PARTITION,
    REASON,
    SOURCE,
    TIMESTAMP_HEADER,
    TOPIC,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Headers = tuple[tuple[str, bytes | None], ...]


class RecordOrigin(Struct, frozen=True):
    """The position of the original record."""

    topic: str
    partition: int
    offset: int
    timestamp: str
    """With its offset from UTC. In a recreated topic, another record has the same offset."""

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.offset}@{self.timestamp}"


class DeadLetter(Struct, frozen=True):
    topic: str
    partition: int
    offset: int
    sent: datetime | None
    origin: RecordOrigin | None
    """None for a row that a data test rejected: several records may have made it."""
    owner: str
    """The source that could not decode it (`source.shop.events`), or the model in which it failed."""
    query: str
    """The query that sent it."""
    reason: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    """Those of the original record."""
    cut: bool = False
    """Kafka did not accept the whole: key, value and headers are not those of the original record."""
    milliseconds: int | None = None
    """The time of the original record, if it was read from its topic."""
    file: str = ""
    """The file of which it is a line, if it is not a record."""
    line: str = ""
    """The number of the line."""

    @property
    def id(self) -> str:
        """Identifies the letter, also if a repeated batch has sent it twice."""
        position = str(self.origin) if self.origin else f"{self.topic}-{self.partition}-{self.offset}"
        return f"{position} {self.owner}"


def dead_letter_of(message: Message) -> DeadLetter:
    headers = tuple((name, bytes_of(value)) for name, value in _headers(message))
    # A record that is no dead letter of ours may have any headers, and a letter has ours at the end.
    own_headers = {name: (value or b"").decode(errors="replace") for name, value in headers if _is_own(name)}
    kind, milliseconds = message.timestamp()
    return DeadLetter(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        _EPOCH + timedelta(milliseconds=milliseconds) if kind else None,
        _origin(own_headers),
        own_headers.get(SOURCE) or own_headers.get(MODEL) or "",
        own_headers.get(BATCH, "").partition("/")[0],
        own_headers.get(REASON, ""),
        bytes_of(message.key()),
        bytes_of(message.value()),
        tuple((name, value) for name, value in headers if not _is_own(name)),
        CUT in own_headers,
        file=own_headers.get(FILE, ""),
        line=own_headers.get(LINE, ""),
    )


def with_original(letter: DeadLetter, original: Message) -> DeadLetter:
    """Return a letter that was cut with what its record has."""
    headers = tuple((name, bytes_of(value)) for name, value in _headers(original))
    kind, milliseconds = original.timestamp()
    return replace(
        letter,
        key=bytes_of(original.key()),
        value=bytes_of(original.value()),
        headers=tuple((name, value) for name, value in headers if not _is_own(name)),
        cut=False,
        milliseconds=milliseconds if kind else None,
    )


def _origin(own_headers: Mapping[str, str]) -> RecordOrigin | None:
    topic, partition, offset = (
        own_headers.get(TOPIC),
        own_headers.get(PARTITION, ""),
        own_headers.get(OFFSET, ""),
    )
    if not topic or not partition.isdecimal() or not offset.isdecimal():
        return None
    return RecordOrigin(topic, int(partition), int(offset), own_headers.get(TIMESTAMP_HEADER, ""))


def _is_own(header: str) -> bool:
    return header.startswith(OWN_HEADERS)


def _headers(message: Message) -> Iterable[tuple[str, str | bytes | None]]:
    headers = message.headers() or []
    return headers.items() if isinstance(headers, Mapping) else headers
