"""A diagnostic as rustc shows one: location, line, caret, notes and remedy, in parts for colors."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal

from millstream.core.errors import Diagnostic
from millstream.core.text import clean_text

DiagnosticPart = Literal["severity", "message", "gutter", "caret", "note", "help", "text"]
PartedLine = tuple[tuple[str, DiagnosticPart], ...]


def diagnostic_lines(diagnostic: Diagnostic, width: int = 80) -> Iterator[PartedLine]:
    """Yield the lines of a diagnostic, each as texts with what they are."""
    heading = f"{diagnostic.severity}[{diagnostic.code}]"
    yield (heading, "severity"), (f": {clean_text(diagnostic.message)}", "message")
    location = diagnostic.location
    margin = " " * len(str(location.line)) if location else " "
    if location:
        yield (f"{margin}--> ", "gutter"), (clean_text(str(location)), "text")
    if location and diagnostic.line:
        line, before, carets = cut_excerpt(
            diagnostic.line, location.column, location.end, width - len(margin) - 3
        )
        yield ((f"{margin} |", "gutter"),)
        yield (f"{location.line} | ", "gutter"), (line, "text")
        yield (f"{margin} | ", "gutter"), (" " * before + "^" * carets, "caret")
    for note in diagnostic.notes:
        suffix = f": {clean_text(str(note.location))}" if note.location else ""
        message = f"{clean_text(note.message)}{suffix}"
        yield (f"{margin} = ", "gutter"), ("note: ", "note"), (message, "text")
    if diagnostic.help:
        yield (f"{margin} = ", "gutter"), ("help: ", "help"), (clean_text(diagnostic.help), "text")


def cut_excerpt(line: str, column: int, end: int, room: int) -> tuple[str, int, int]:
    """Return as much of a line as fits in `room` cells, the cells before the carets, and the carets.

    Columns count characters from 1. Cells count columns of a terminal: two for a wide character, four for
    a tab.
    """
    room = max(room, 20)
    first = min(max(column - 1, 0), len(line))
    last = min(max(end - 1, first + 1), len(line))
    start, stop = max(0, first - room), min(len(line), first + room)
    cells = [clean_text(character) for character in line[start:stop]]
    caret = first - start
    if start > 0 or stop < len(line) or _width(cells) > room:
        cells, caret, start = _window(cells, caret, room, start > 0, stop < len(line))
    carets = _width(cells[caret : caret + max(last - first, 1)]) if last > first else 1
    before = _width(cells[:caret])
    return "".join(cells), before, max(1, min(carets, room - before))


def _window(
    cells: list[str], caret: int, room: int, more_left: bool, more_right: bool
) -> tuple[list[str], int, int]:
    """Cut the cells around the caret, with … where some are cut off."""
    widths = [_width([cell]) for cell in cells]
    left, width = 0, sum(widths[:caret])
    while width > room // 2:
        width -= widths[left]
        left += 1
    right, width = len(cells), sum(widths[left:])
    while right > caret + 1 and width > room - 2:
        right -= 1
        width -= widths[right]
    head = ["…"] if left or more_left else []
    tail = ["…"] if right < len(cells) or more_right else []
    return [*head, *cells[left:right], *tail], caret - left + len(head), left


def _width(cells: Sequence[str]) -> int:
    return sum(_cell_count(character) for cell in cells for character in cell)


def _cell_count(character: str) -> int:
    """Return how many columns of a terminal a character takes."""
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
