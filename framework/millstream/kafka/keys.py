"""Keys of the records that generators yield, and of those that are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.core.types import STRING
from millstream.formats.keys import KeyFormat
from millstream.formats.registry import KEY
from millstream.formats.values import as_mapping, encode_utf8, text_of, to_json
from millstream.project.values import Topic


def key_format_of(topic: Topic) -> KeyFormat:
    return KeyFormat(topic.key.format, topic.key.type) if topic.key else KeyFormat(KEY, STRING)


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
