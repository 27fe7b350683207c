"""What stands before a message: nothing, or a zero, a schema's id and the indexes of the message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.formats.protobuf.schema import ProtobufSchema, message_indexes, message_type
from millstream.formats.values import UnfitError
from millstream.formats.varint import read_varint, signed_number, varint_bytes

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

_ID = 5


def remove_frame(value: bytes, schema: ProtobufSchema) -> bytes:
    if schema.framing == "plain":
        return value
    if not value or value[0] != 0:
        raise UnfitError("the value does not start with a zero and a schema's id")
    if len(value) <= _ID:
        raise UnfitError("the value is cut off in its schema id")
    count, position = _read(value, _ID)
    if count == 0:
        actual: tuple[int, ...] = (0,)
    elif 0 < count <= len(value):
        indexes: list[int] = []
        for _ in range(count):
            index, position = _read(value, position)
            indexes.append(index)
        actual = tuple(indexes)
    else:
        raise UnfitError(f"the value has {count} message indexes")
    expected = message_indexes(_message(schema))
    if schema.message_positions:
        schema_id = int.from_bytes(value[1:_ID], "big", signed=True)
        message_position = dict(schema.message_positions).get(schema_id)
        if message_position is None:
            raise UnfitError(f"unknown schema id {schema_id}")
        if not message_position:
            raise UnfitError(f"the schema of the value has no message {schema.message}")
        expected = tuple(map(int, message_position.split(".")))
    if actual != expected:
        shown, expected_text = (".".join(map(str, path)) for path in (actual, expected))
        raise UnfitError(
            f"the value has message indexes {shown}, not {expected_text} of message {schema.message}"
        )
    return value[position:]


def add_frame(message: bytes, schema: ProtobufSchema) -> bytes:
    if schema.framing == "plain":
        return message
    indexes = message_indexes(_message(schema))
    # One byte stands for the first message.
    written = [0] if indexes == (0,) else [len(indexes), *indexes]
    return (
        b"\0"
        + schema.id.to_bytes(4, "big")
        + b"".join(varint_bytes(number << 1) for number in written)
        + message
    )


def _message(schema: ProtobufSchema) -> Descriptor:
    return message_type(schema.descriptors, schema.message)


def _read(value: bytes, position: int) -> tuple[int, int]:
    number, position = read_varint(
        value,
        position,
        len(value),
        cut_off="the value is cut off in its message indexes",
        too_long="a message index has more than 32 bits",
        most_bytes=5,
    )
    return signed_number(number & 2**32 - 1), position
