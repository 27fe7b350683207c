"""Positions of the keys and values of a TOML file, which Python's reader does not provide.

The text was parsed before, so it is known to be valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

Path = tuple[str, ...]
Span = tuple[int, int]


class TomlPosition(Struct, frozen=True):
    """Offsets of a key and of its value; those of a table are of its header."""

    key: Span
    value: Span


_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[\w-]+")
_STRING = re.compile(
    r'''
    """(?:\\.|[^\\])*?"{3,5}
    | \'{3}.*?\'{3,5}
    | "(?:\\.|[^"\\\n])*"
    | \'[^\'\n]*\'
    ''',
    re.DOTALL | re.VERBOSE,
)
# A date and a time may be separated by a space.
_ATOM = re.compile(r"[^\s,\]}#]+(?: \d[^\s,\]}#]*)?")


def toml_positions(content: str) -> dict[Path, TomlPosition]:
    """Return the position of each key, by its path; items of lists have their index as the last part."""
    reader = _Reader(content)
    reader.document()
    return reader.positions


class _Reader(Struct):
    content: str
    position: int = 0
    positions: dict[Path, TomlPosition] = {}

    def skip(self, pattern: re.Pattern[str]) -> int:
        """Move past a match, and return where it begins."""
        start = self.position
        if match := pattern.match(self.content, start):
            self.position = match.end()
        return start

    def starts_with(self, text: str) -> bool:
        return self.content.startswith(text, self.position)

    def document(self) -> None:
        table: Path = ()
        self.skip(_BLANK)
        while self.position < len(self.content):
            before = self.position
            if self.starts_with("["):
                self.position += 2 if self.starts_with("[[") else 1
                table, span = self.key()
                self.positions.setdefault(table, TomlPosition(span, span))
                self.position = self.content.find("]", self.position) + (
                    2 if self.content[before + 1] == "[" else 1
                )
            else:
                self.pair(table)
            self.skip(_BLANK)
            if self.position <= before:
                return

    def pair(self, table: Path) -> None:
        name, span = self.key()
        path = (*table, *name)
        self.position += 1  # behind the `=`
        self.skip(_SPACE)
        self.positions.setdefault(path, TomlPosition(span, self.value(path)))

    def key(self) -> tuple[Path, Span]:
        parts: list[str] = []
        self.skip(_SPACE)
        start = stop = self.position
        while True:
            quoted = self.starts_with('"') or self.starts_with("'")
            begin = self.skip(_STRING if quoted else _BARE)
            stop = self.position
            parts.append(self.content[begin + 1 : stop - 1] if quoted else self.content[begin:stop])
            self.skip(_SPACE)
            if not self.starts_with("."):
                return tuple(parts), (start, stop)
            self.position += 1
            self.skip(_SPACE)

    def value(self, path: Path) -> Span:
        start = self.position
        if self.starts_with("{"):
            self.items("}", lambda _: self.pair(path))
        elif self.starts_with("["):
            self.items("]", lambda number: self.item((*path, str(number))))
        else:
            self.skip(_STRING if self.starts_with('"') or self.starts_with("'") else _ATOM)
        return start, self.position

    def item(self, path: Path) -> None:
        span = self.value(path)
        self.positions.setdefault(path, TomlPosition(span, span))

    def items(self, end: str, read: Callable[[int], None]) -> None:
        self.position += 1
        number = 0
        self.skip(_BLANK)
        while self.position < len(self.content) and not self.starts_with(end):
            read(number)
            number += 1
            self.skip(_BLANK)
            if self.starts_with(","):
                self.position += 1
                self.skip(_BLANK)
        self.position += 1
