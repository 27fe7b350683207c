"""Which texts the values of a type become, and whether texts that are joined can be taken apart again."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from millstream.types import (
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


class Texts(Struct, frozen=True):
    """Texts of one character at least: which can come first, and which after that."""

    first: frozenset[str]
    rest: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.first | self.rest


_DIGITS = frozenset("0123456789")
NUMBERS = Texts(_DIGITS | {"-"}, _DIGITS)
HEX = Texts(_DIGITS | set("abcdefABCDEF"), _DIGITS | set("abcdefABCDEF"))


def _of(characters: str) -> Texts:
    found = _DIGITS | set(characters)
    return Texts(found, found)


_TEXTS: dict[Type, Texts] = {
    **dict.fromkeys(INTEGERS, NUMBERS),
    BOOLEAN: Texts(frozenset("tf"), frozenset("rueals")),
    DATE: _of("+-"),
    TIMESTAMP: _of("+-: ."),
    TIMESTAMP_NTZ: _of("+-: ."),
    **dict.fromkeys((FLOAT, DOUBLE), _of("+-.ENaInfity")),
}


def texts_of(found: Type) -> Texts | None:
    """Return the texts that values of a type become; None for any text."""
    return _of("+-.E") if isinstance(found, Decimal) else _TEXTS.get(found)


def separable(parts: Sequence[str | Texts | None]) -> bool:
    """Tell whether there is one way to take a joined text apart into literals and others (None: any text).

    From the left, a part ends at the first character that it can't have; from the right, it begins there.
    What is left in the middle is one part, of any text.
    """
    variable = [index for index, part in enumerate(parts) if not isinstance(part, str)]
    return any(
        all(_ends(parts, index) for index in variable if index < middle)
        and all(_begins(parts, index) for index in variable if index > middle)
        for middle in variable
    )


def _ends(parts: Sequence[str | Texts | None], index: int) -> bool:
    part, following = parts[index], parts[index + 1]
    return isinstance(part, Texts) and isinstance(following, str) and following[0] not in part.rest


def _begins(parts: Sequence[str | Texts | None], index: int) -> bool:
    part, before = parts[index], parts[index - 1]
    return isinstance(part, Texts) and isinstance(before, str) and before[-1] not in part.all
