"""Checks the bytes of a message for values that Protobuf's runtime would cut, replace or take for absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.formats.values import UnfitError, decode_utf8
from millstream.formats.varint import read_varint

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

_VARINT, _FIXED64, _LENGTH, _GROUP, _END_GROUP, _FIXED32 = range(6)
_WIRE = {
    **dict.fromkeys((1, 6, 16), _FIXED64),
    **dict.fromkeys((2, 7, 15), _FIXED32),
    **dict.fromkeys((9, 11, 12), _LENGTH),
    10: _GROUP,
}
"""By type of a field; all others are varints."""
_UINT32 = range(2**32)
_INT32 = range(-(2**31), 2**31)
_RANGES = {5: _INT32, 14: _INT32, 13: _UINT32, 17: _UINT32, 8: range(2)}
_SIGNED = frozenset((5, 14))
_TEXT, _ENUM = 9, 14
_DEEPEST = 100


def check_wire(value: bytes, message: Descriptor) -> None:
    """Raise `UnfitError` if a known field has a value of another type, or one that its type can't hold."""
    _Reader(value).message(message, len(value), 0)


class _Reader:
    """A position in the bytes."""

    def __init__(self, value: bytes) -> None:
        self.value = value
        self.position = 0

    def message(self, message: Descriptor | None, end: int, group: int, depth: int = 0) -> None:
        """Read to the end, or to the tag that ends a group; without a type, all fields are unknown."""
        if depth > _DEEPEST:
            raise UnfitError(f"messages are nested more than {_DEEPEST} levels deep")
        while self.position < end:
            tag = self.varint(end)
            number, wire = tag >> 3, tag & 7
            if not 0 < number < 2**29 or wire > _FIXED32:
                raise UnfitError(f"not a Protobuf message: invalid tag before byte {self.position}")
            if wire == _END_GROUP:
                if number != group:
                    raise UnfitError(f"not a Protobuf message: misplaced end of group {number}")
                return
            field = message.fields_by_number.get(number) if message else None
            if field is None:
                if message and message.GetOptions().map_entry:
                    raise UnfitError(f"field {number} in an entry of a map, which has a key and a value")
                self.skip(number, wire, end, depth)
            else:
                self.field(field, wire, end, depth)
        if group:
            raise UnfitError("the value ends within a group")

    def field(self, field: FieldDescriptor, wire: int, end: int, depth: int) -> None:
        expected = _WIRE.get(field.type, _VARINT)
        if wire == expected:
            self.single(field, wire, end, depth)
        elif wire == _LENGTH and field.is_repeated and expected not in {_LENGTH, _GROUP}:
            stop = self.length(end)
            while self.position < stop:
                self.single(field, expected, stop, depth)
        else:
            raise UnfitError(f"field {field.name}: a value of wire type {wire} is not of the field's type")

    def single(self, field: FieldDescriptor, wire: int, end: int, depth: int) -> None:
        match wire:
            case 0:
                self.number(field, self.varint(end))
            case 2:
                stop = self.length(end)
                if field.message_type is not None:
                    self.message(field.message_type, stop, 0, depth + 1)
                elif field.type == _TEXT:
                    decode_utf8(self.value[self.position : stop])
                self.position = stop
            case 3:
                self.message(field.message_type, end, field.number, depth + 1)
            case _:
                self.skip(field.number, wire, end, depth)

    def number(self, field: FieldDescriptor, unsigned: int) -> None:
        signed = unsigned - 2**64 if field.type in _SIGNED and unsigned >= 2**63 else unsigned
        if signed not in _RANGES.get(field.type, (signed,)):
            raise UnfitError(f"field {field.name}: {signed} does not fit the field's type")
        if field.type == _ENUM and signed not in field.enum_type.values_by_number:
            raise UnfitError(f"field {field.name}: {signed} is not a number of {field.enum_type.full_name}")

    def skip(self, number: int, wire: int, end: int, depth: int) -> None:
        match wire:
            case 0:
                self.varint(end)
            case 1:
                self.move(8, end)
            case 2:
                self.position = self.length(end)
            case 3:
                self.message(None, end, number, depth + 1)
            case _:
                self.move(4, end)

    def length(self, end: int) -> int:
        """Return where a length-delimited value ends."""
        stop = self.varint(end) + self.position
        if stop > end:
            raise UnfitError("the value is cut off")
        return stop

    def move(self, count: int, end: int) -> None:
        if self.position + count > end:
            raise UnfitError("the value is cut off")
        self.position += count

    def varint(self, end: int) -> int:
        number, self.position = read_varint(self.value, self.position, end, cut_off="the value is cut off")
        return number
