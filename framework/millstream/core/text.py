"""Texts and locations: converts offsets to lines and columns."""

import re
from bisect import bisect_right
from functools import cached_property

from msgspec import Struct


class Location(Struct, frozen=True, order=True):
    """A span in a line of a file: line and column count from 1, `end` is the column after its end."""

    path: str
    line: int
    column: int
    end: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


_TAB = "    "
_CONTROL = {code: chr(0x2400 + code) for code in range(32) if code != 9} | {127: "␡", 9: _TAB}
DIRECTIONS = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Characters that make a terminal show a line in another order than it is read."""
_CONTROL |= {code: f"\\x{code:02x}" for code in range(128, 160)} | DIRECTIONS
"""Control characters of a user's file must not reach the terminal; a symbol is shown instead."""


class FileText:
    """The text of one file, by its path relative to the project."""

    def __init__(self, path: str, content: str) -> None:
        self.path = path
        self.content = content

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(end.end() for end in re.finditer("\n", self.content))]

    def line(self, number: int) -> str:
        """Return a line without its line end; an empty text after the last line."""
        if not 1 <= number <= len(self._starts):
            return ""
        start = self._starts[number - 1]
        stop = self.content.find("\n", start)
        return self.content[start : stop if stop >= 0 else len(self.content)].removesuffix("\r")

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column, which count from 1."""
        return self._starts[min(max(line, 1), len(self._starts)) - 1] + column - 1

    def location(self, start: int, stop: int | None = None) -> Location:
        """Return the location of `content[start:stop]`, cut at the end of its first line."""
        start = min(max(start, 0), len(self.content))
        line = bisect_right(self._starts, start)
        column = start - self._starts[line - 1] + 1
        width = 1 if stop is None else stop - start
        room = len(self.line(line)) - column + 1
        return Location(self.path, line, column, column + max(1, min(width, room)))


def clean_text(text: str) -> str:
    """Return a user's text without control characters and unpaired surrogates, with tabs as four spaces."""
    return text.translate(_CONTROL).encode("utf-8", "replace").decode()
