"""Tables of characters, as this Python knows them: Java may have another version of Unicode."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from unicodedata import category

_LAST_SPACE = 0x3000
_SIGMA = "\u03a3"
_FINAL = "\u03c2"
_NEVER_IGNORED = frozenset(("Lo", "Lu", "Ll", "So", "Nd", "Cn", "Co"))
"""Categories of most characters, without any that Unicode calls case-ignorable."""


@cache
def whitespace() -> str:
    return "".join(chr(code) for code in range(_LAST_SPACE + 1) if chr(code).isspace())


@cache
def _characters() -> str:
    """Return all characters; those of surrogates are left out, because no text has them."""
    return "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))


@cache
def upper() -> str:
    """Return each character that `upper()` changes, with what becomes of it and a NUL."""
    return _table(str.upper)


@cache
def lower() -> str:
    return _table(str.lower)


def _table(change: Callable[[str], str]) -> str:
    every = _characters()
    return "".join(f"{old}{new}\0" for old, new in zip(every, map(change, every), strict=True) if old != new)


@cache
def unprintable() -> str:
    """Return the ranges of characters that `repr()` escapes."""
    return _ranges(not printable for printable in map(str.isprintable, _characters()))


@cache
def cased() -> str:
    """Return the ranges of characters after which a sigma is a final one."""
    return _ranges(
        character.islower() or character.isupper() or character.istitle() for character in _characters()
    )


@cache
def ignored() -> str:
    """Return the ranges of characters that are skipped to find out whether a sigma is a final one."""
    flags = bytearray(len(_characters()))
    skipped = [
        index for index, character in enumerate(_characters()) if category(character) not in _NEVER_IGNORED
    ]
    tried = [_characters()[index] for index in skipped]
    for index, letter, digit in zip(skipped, _finals("A", tried), _finals("1", tried), strict=True):
        flags[index] = letter and not digit
    return _ranges(flags)


def _finals(first: str, tried: Iterable[str]) -> list[bool]:
    """Say for each character whether a sigma after it is a final one, if `first` is before both."""
    lines = "".join(f"{first}{_other(character)}{_SIGMA}\n" for character in tried)
    return [line.endswith(_FINAL) for line in lines.lower().split("\n")[:-1]]


def _other(character: str) -> str:
    return "x" if character == "\n" else character  # none of the two is ignored


def _ranges(flags: Iterable[int]) -> str:
    """Return the first and the last character of each run."""
    every = _characters()
    runs = re.finditer(rb"\x01+", bytes(flags))
    return "".join(every[run.start()] + every[run.end() - 1] for run in runs)
