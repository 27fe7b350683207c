"""Decodes records for display, by what the project knows of their topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from confluent_kafka import Message
from msgspec import Struct

from millstream.compile.manifest import ManifestNode
from millstream.core.types import STRING, UNKNOWN, Field, Type, TypeSyntaxError, parse_type
from millstream.formats.changes import envelope_fields
from millstream.formats.format import Fields, Format
from millstream.formats.keys import KeyFormat, written_key
from millstream.formats.registry import KEY, Encoding, format_of
from millstream.formats.values import UnfitError, decode_utf8, from_json
from millstream.kafka.generators import fields_of
from millstream.kafka.keys import key_format_of
from millstream.project.values import Topic

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class TopicDecoding(Struct, frozen=True):
    """How to decode the records of a topic."""

    topics: tuple[str, ...]
    encoding: Encoding | None = None
    """None if the topic doesn't belong to the project."""
    fields: Fields = ()
    key: KeyFormat = KeyFormat(KEY, STRING)

    @property
    def format(self) -> Format | None:
        return format_of(self.encoding) if self.encoding is not None else None

    @property
    def is_single(self) -> bool:
        """Whether a value is shown as one, not by its fields."""
        return self.format is None or self.format.single or not self.fields


class ShownRecord(Struct, frozen=True):
    """A record for display; parts that can't be decoded stay bytes, with the reason in `wrong`."""

    topic: str
    partition: int
    offset: int
    timestamp: datetime | None
    key: Any
    value: Any
    headers: tuple[tuple[str, Any], ...] = ()
    wrong: dict[str, str] = {}


def of_source(topic: Topic) -> TopicDecoding:
    return TopicDecoding(topic.topics, topic.format, fields_of(topic), key_format_of(topic))


def of_sink(node: ManifestNode) -> TopicDecoding:
    """Return how to decode a model's records, which `millstream.queries.records` defines."""
    sink = node.sink
    assert sink is not None, f"{node.name} writes no topic"
    fields = tuple(Field(column.name, _type(column.type)) for column in node.columns)
    of_key = {field.name.lower(): field for field in fields}
    parts = [of_key[name.lower()] for name in sink.key if name.lower() in of_key]
    value_columns = sink.value_columns([field.name for field in fields])
    fields = tuple(field for field in fields if field.name in value_columns)
    key = written_key(sink.key_encoding, parts) if parts else KeyFormat(KEY, STRING)
    return TopicDecoding(
        (sink.topic,), sink.encoding, tuple(envelope_fields(fields)) if sink.changes else fields, key
    )


def _type(text: str) -> Type:
    try:
        return parse_type(text)
    except TypeSyntaxError:
        return UNKNOWN


def show_record(message: Message, reading: TopicDecoding) -> ShownRecord:
    wrong: dict[str, str] = {}

    def decoded(part: str, data: bytes | None, decode: Callable[[bytes], Any]) -> Any:
        try:
            return None if data is None else decode(data)
        except UnfitError as error:
            wrong[part] = str(error)
            return data

    kind, milliseconds = message.timestamp()
    local = reading.format.local if reading.format else None
    return ShownRecord(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        _EPOCH + timedelta(milliseconds=milliseconds) if kind else None,
        decoded("key", bytes_of(message.key()), reading.key.decode),
        decoded(
            "value",
            bytes_of(message.value()),
            lambda value: local.decode(value, reading.fields) if local else _guess(value),
        ),
        tuple((name, _guess(bytes_of(value))) for name, value in headers_of(message)),
        wrong,
    )


def headers_of(message: Message) -> Iterable[tuple[str, Any]]:
    headers = message.headers() or []
    return headers.items() if isinstance(headers, Mapping) else headers


def bytes_of(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _guess(value: bytes | None) -> Any:
    """Return bytes of an unknown format as JSON, as text, or unchanged."""
    if value is None:
        return None
    if value[:1] in {b"{", b"["}:
        try:
            return from_json(value)
        except UnfitError:
            pass
    try:
        text = decode_utf8(value)
    except UnfitError:
        return value
    return text if text.isprintable() or not any(c < " " and c not in "\t\n\r" for c in text) else value
