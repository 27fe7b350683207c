"""Encodes and decodes keys of records: text, or bytes for a binary key, in any format of the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.formats.values import encoded, from_json, text_of, to_json, utf8, value_of
from millstream.types import BINARY, STRING, Array, Map, Row, Type


def encode_key(key: Any) -> bytes | None:
    match key:
        case None:
            return None
        case str():
            return encoded(key)
        case bytes():
            return key
        case Mapping() | list() | tuple():
            return to_json(key)
        case _:
            return encoded(text_of(key))


def decode_key(key: bytes, type_: Type = STRING) -> Any:
    """Return a key as a value; raise `UnfitError` if it doesn't have this type."""
    match type_:
        case _ if type_ == BINARY:
            return key
        case Array() | Map() | Row():
            return from_json(key)
        case _:
            return value_of(utf8(key), type_)
