"""Avro's binary encoding, read strictly."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from millstream.formats.reasons import not_a
from millstream.formats.values import UnfitError
from millstream.formats.varint import read_varint, signed_number, varint_bytes

_FLOAT = struct.Struct("<f")
_DOUBLE = struct.Struct("<d")
_MOST_FREE = 10_000
"""Elements without bytes, in all of a value: a few bytes can claim any number of them."""
_MOST = 2**63 - 1
_DEEPEST = 200


class AvroInput:
    """The bytes of a value, and the position in them."""

    def __init__(self, value: bytes, start: int) -> None:
        self.value = value
        self.position = start
        self.free = _MOST_FREE
        self.depth = 0

    def take(self, length: int) -> bytes:
        if length > len(self.value) - self.position:
            raise UnfitError("the value ends too early")
        self.position += length
        return self.value[self.position - length : self.position]

    def read_boolean(self) -> bool:
        (byte,) = self.take(1)
        if byte > 1:
            raise UnfitError(f"the byte 0x{byte:02x} is not a boolean")
        return bool(byte)

    def read_int(self) -> int:
        number = self.read_long()
        if not -(2**31) <= number < 2**31:
            raise not_a(number, "an int")
        return number

    def read_long(self) -> int:
        number, self.position = read_varint(
            self.value, self.position, len(self.value), cut_off="the value ends too early"
        )
        return signed_number(number)

    def read_float(self) -> float:
        number: float = _FLOAT.unpack(self.take(4))[0]
        return number

    def read_double(self) -> float:
        number: float = _DOUBLE.unpack(self.take(8))[0]
        return number

    def read_bytes(self) -> bytes:
        return self.take(self._read_length())

    def _read_length(self) -> int:
        length = self.read_long()
        if length < 0:
            raise UnfitError(f"a length is negative: {length}")
        if length > len(self.value) - self.position:
            raise UnfitError("the value ends too early")
        return length

    def read_string(self) -> str:
        try:
            return self.read_bytes().decode()
        except UnicodeDecodeError:
            raise UnfitError("the text is not UTF-8") from None

    def read_index(self, count: int, of: str) -> int:
        index = self.read_long()
        if not 0 <= index < count:
            raise UnfitError(f"{index} is not the number of {of}")
        return index

    def items(self) -> Iterator[int]:
        """Yield the index of each element of an array, or entry of a map, which the caller then reads."""
        index = 0
        while count := self.read_long():
            end = None
            if count < 0:
                count, size = -count, self._read_length()
                end = self.position + size
                if count > _MOST:
                    raise UnfitError("the size of a block is wrong")
            for _ in range(count):
                before = self.position
                yield index
                index += 1
                if self.position == before:
                    self.free -= 1
                    if self.free < 0:
                        raise UnfitError("there are too many elements without any bytes")
            if end is not None and self.position != end:
                raise UnfitError("the size of a block is wrong")

    def enter(self) -> None:
        """Count a record that is in another one."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UnfitError(f"records are nested more than {_DEEPEST} levels deep")

    def leave(self) -> None:
        self.depth -= 1

    def end(self) -> None:
        if rest := len(self.value) - self.position:
            raise UnfitError(f"there is more after the record: {rest} bytes")


def long_bytes(value: int) -> bytes:
    return varint_bytes((value << 1) ^ (value >> 63))


def float_bytes(value: float) -> bytes:
    try:
        return _FLOAT.pack(value)
    except OverflowError:
        raise not_a(value, "a float") from None


double_bytes: Callable[[float], bytes] = _DOUBLE.pack


def round_float(value: float, type_: str) -> float:
    """Return the float or double that is nearest to a number."""
    if type_ == "float":
        (value,) = _FLOAT.unpack(float_bytes(value))
    return float(value)
