"""What is before a record in a value."""

from __future__ import annotations

from typing import Literal, TypeAlias

from millstream.formats.values import UnfitError

Framing: TypeAlias = Literal["plain", "confluent"]
"""`confluent`: as Confluent's serializers write it, the byte 0, and the schema's id in four bytes."""
_LENGTH = 5


def header(framing: Framing, schema_id: int) -> bytes:
    return b"" if framing == "plain" else b"\0" + schema_id.to_bytes(4, "big", signed=True)


def header_length(framing: Framing) -> int:
    return 0 if framing == "plain" else _LENGTH


def schema_id_of(value: bytes, framing: Framing) -> int:
    """Return the id of the schema that a value was written with; without framing it is always 0."""
    if framing == "plain":
        return 0
    if len(value) < _LENGTH:
        raise UnfitError(f"the value has {len(value)} bytes, too few for a schema id")
    if value[0]:
        raise UnfitError(f"the value starts with byte 0x{value[0]:02x}, not with 0 and a schema id")
    return int.from_bytes(value[1:_LENGTH], "big", signed=True)
