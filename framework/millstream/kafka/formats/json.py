"""JSON objects; a text is JSON already."""

from __future__ import annotations

from typing import Any

from millstream.kafka.formats.base import Fields, Format, encoded, from_json, to_json


def encode(value: Any, fields: Fields) -> bytes:  # noqa: ARG001 - what no column reads does no harm
    return encoded(value) if isinstance(value, str) else to_json(value)


def decode(value: bytes, fields: Fields) -> Any:  # noqa: ARG001
    return from_json(value)


JSON = Format(encode, decode)
