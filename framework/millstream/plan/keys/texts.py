"""The texts of a type's values, and whether concatenated texts can be split again."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from millstream.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Type,
)


class TextSet(Struct, frozen=True):
    """Texts of at least one character: the possible first and further characters."""

    first: frozenset[str]
    rest: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.first | self.rest


_DIGITS = frozenset("0123456789")
NUMBERS = TextSet(_DIGITS | {"-"}, _DIGITS)
HEX = TextSet(_DIGITS | set("abcdefABCDEF"), _DIGITS | set("abcdefABCDEF"))


def _of(characters: str) -> TextSet:
    all_characters = _DIGITS | set(characters)
    return TextSet(all_characters, all_characters)


_TEXTS: dict[Type, TextSet] = {
    **dict.fromkeys(INTEGERS, NUMBERS),
    BOOLEAN: TextSet(frozenset("tf"), frozenset("rueals")),
    DATE: _of("+-"),
    TIMESTAMP: _of("+-: ."),
    TIMESTAMP_NTZ: _of("+-: ."),
    **dict.fromkeys((FLOAT, DOUBLE), _of("+-.ENaInfity")),
}


def texts_of(type_: Type) -> TextSet | None:
    """Return the texts of a type's values; None for any text."""
    return _of("+-.E") if isinstance(type_, Decimal) else _TEXTS.get(type_)


def are_separable(parts: Sequence[str | TextSet | None]) -> bool:
    """Return whether a concatenated text can be split into its parts in only one way (None: any text).

    From the left, a part ends at the first character that it can't contain; from the right, it begins there.
    One part in the middle can be any text.
    """
    variable = [index for index, part in enumerate(parts) if not isinstance(part, str)]
    return any(
        all(_ends(parts, index) for index in variable if index < middle)
        and all(_begins(parts, index) for index in variable if index > middle)
        for middle in variable
    )


def _ends(parts: Sequence[str | TextSet | None], index: int) -> bool:
    part, following = parts[index], parts[index + 1]
    return isinstance(part, TextSet) and isinstance(following, str) and following[0] not in part.rest


def _begins(parts: Sequence[str | TextSet | None], index: int) -> bool:
    part, before = parts[index], parts[index - 1]
    return isinstance(part, TextSet) and isinstance(before, str) and before[-1] not in part.all
