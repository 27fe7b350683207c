"""Positions as editors count them: lines from 0, and characters in units of UTF-16, or what was agreed on."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from millstream.core.text import FileText, Location

_UNITS: dict[str, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-32": len,
}


def to_range(location: Location, text: FileText, encoding: str) -> types.Range:
    """Return the range of a location, of which the text gives the line."""
    line, units = text.line(location.line), _UNITS[encoding]
    start, stop = (units(line[: max(0, column - 1)]) for column in (location.column, location.end))
    row = location.line - 1
    return types.Range(types.Position(row, start), types.Position(row, max(start, stop)))


def to_offset(position: types.Position, text: FileText, encoding: str) -> int:
    """Return the offset in a text of an editor's position; behind the end of a line, that of its end."""
    line, units = text.line(position.line + 1), _UNITS[encoding]
    column = 0
    if encoding == "utf-32" or line.isascii():
        column = min(position.character, len(line))
    else:
        while column < len(line) and units(line[: column + 1]) <= position.character:
            column += 1
    return min(text.offset(position.line + 1, column + 1), len(text.content))


def normalized(source: str) -> str:
    r"""Return a text as the compiler reads files: without a byte order mark, and with `\n` at line ends."""
    return source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
