"""Eight bytes, the highest first: what Kafka's LongSerializer writes."""

from __future__ import annotations

from typing import Any

from millstream.kafka.formats.base import Fields, Format, UnfitError, one

_BYTES = 8


def encode(value: Any, fields: Fields) -> bytes:
    number = one(value, fields)
    if not isinstance(number, int) or isinstance(number, bool):
        raise UnfitError(f"a value is a whole number, not {type(number).__name__}")
    try:
        return number.to_bytes(_BYTES, "big", signed=True)
    except OverflowError:
        raise UnfitError(f"{number} has more than 64 bits") from None


def decode(value: bytes, fields: Fields) -> Any:  # noqa: ARG001
    if len(value) != _BYTES:
        raise UnfitError(f"not eight bytes of a number but {len(value)}")
    return int.from_bytes(value, "big", signed=True)


LONG = Format(encode, decode)
