"""Numbers of variable length, as Avro and Protobuf write them: seven bits a byte, the lowest first."""

from __future__ import annotations

from millstream.formats.values import UnfitError


def read_varint(
    value: bytes,
    position: int,
    end: int,
    *,
    cut_off: str,
    too_long: str = "a number has more than 64 bits",
    most_bytes: int = 10,
) -> tuple[int, int]:
    """Return an unsigned number and the position after it; the reasons are those of `UnfitError`."""
    number = 0
    for shift in range(0, 7 * most_bytes, 7):
        if position >= end:
            raise UnfitError(cut_off)
        byte = value[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number >= 2**64:
                break
            return number, position
    raise UnfitError(too_long)


def varint_bytes(number: int) -> bytes:
    """Return the bytes of an unsigned number."""
    content = bytearray()
    while number > 0x7F:
        content.append(number & 0x7F | 0x80)
        number >>= 7
    content.append(number)
    return bytes(content)


def signed_number(unsigned: int) -> int:
    """Return the number that zigzag encoding made unsigned."""
    return (unsigned >> 1) ^ -(unsigned & 1)
