"""Text: the whole value is one column."""

from __future__ import annotations

from typing import Any

from millstream.kafka.formats.base import Fields, Format, encoded, one, text_of, utf8, value_of
from millstream.types import STRING as TEXT


def encode(value: Any, fields: Fields) -> bytes:
    return encoded(text_of(one(value, fields)))


def decode(value: bytes, fields: Fields) -> Any:
    text = utf8(value)
    return value_of(text, fields[0].type) if fields and fields[0].type != TEXT else text


STRING = Format(encode, decode)
