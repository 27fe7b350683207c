"""Wraps and pads text to a number of terminal cells."""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import combining, east_asian_width

_WORD = re.compile(r"\s*\S+")


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int) -> str:
    return text + " " * max(0, width - cells(text))


def wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """Break a text between words; the first line begins with `first`, the others with `others`."""
    lines: list[str] = []
    line, begun = first, False
    for word in _pieces(_WORD.findall(text), max(8, width - max(cells(first), cells(others)))):
        if begun and cells(line) + cells(word) > width:
            lines.append(line.rstrip())
            line, begun = others, False
        line += word if begun else word.lstrip()
        begun = True
    return [*lines, line.rstrip()]


def _pieces(words: Iterable[str], room: int) -> Iterable[str]:
    """Split words that are longer than a line."""
    for word in words:
        rest = word
        while cells(rest.strip()) > room:
            rest = rest.lstrip()
            cut = room
            while cells(rest[:cut]) > room:
                cut -= 1
            yield rest[:cut]
            rest = rest[cut:]
        if rest:
            yield rest
