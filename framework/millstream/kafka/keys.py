"""Keys of the records that generators yield, and of those that are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.core.types import STRING
from millstream.formats.keys import KeyFormat
from millstream.formats.registry import KEY, format_of
from millstream.formats.values import as_mapping, encode_utf8, text_of, to_json
from millstream.project.values import DeclaredColumn, Topic


def key_format_of(topic: Topic) -> KeyFormat:
    return KeyFormat(topic.key.format, topic.key.type) if topic.key else KeyFormat(KEY, STRING)


def key_columns(topic: Topic) -> tuple[DeclaredColumn, ...]:
    """Return the columns of a row in a database that are its key: changes have them in keys and in values."""
    if topic.key is None or not format_of(topic.format).of_change:
        return ()
    names = {name.lower() for name in topic.key.columns}
    return tuple(column for column in topic.columns if column.name.lower() in names)


def with_key(value: Any, key: Any, topic: Topic) -> Any:
    """Return a row with the columns of its key, which it may leave out; a whole change stays as it is."""
    columns = key_columns(topic)
    if (
        not columns
        or not isinstance(value, Mapping)
        or "op" in value
        or key is None
        or isinstance(key, bytes)
    ):
        return value
    parts = key if isinstance(key, Mapping) else {columns[0].name: key}
    return {column.name: parts.get(column.name) for column in columns} | dict(value)


def encode_key(key: Any, topic: Topic) -> bytes | None:
    """Return a key in the format of its topic; bytes are what they are, and structures are JSON in texts."""
    if key is None or type(key) is bytes:
        return key
    key_format = key_format_of(topic)
    if key_format.encoding.name != KEY.name:
        return key_format.encode(as_mapping(key))
    match key:
        case str():
            return encode_utf8(key)
        case Mapping() | list() | tuple():
            return to_json(key)
        case _:
            return encode_utf8(text_of(key))
