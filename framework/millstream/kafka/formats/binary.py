"""Bytes as they are."""

from __future__ import annotations

from typing import Any

from millstream.kafka.formats.base import Fields, Format, UnfitError, encoded, one


def encode(value: Any, fields: Fields) -> bytes:
    found = one(value, fields)
    match found:
        case bytes() | bytearray() | memoryview():
            return bytes(found)
        case str():
            return encoded(found)
        case _:
            raise UnfitError(f"a value is bytes, not {type(found).__name__}")


def decode(value: bytes, fields: Fields) -> Any:  # noqa: ARG001
    return value


BINARY = Format(encode, decode)
