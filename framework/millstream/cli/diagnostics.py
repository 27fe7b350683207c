"""Diagnostics as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from millstream.cli.remedies import NO_TARGET, TargetOptions, for_target
from millstream.errors import Diagnostic
from millstream.project.files import forbidden_target, read_data
from millstream.text import Location, clean
from millstream.text import Text as Source

if TYPE_CHECKING:
    from rich.text import Text


def render(found: Diagnostic, width: int = 80, target: TargetOptions = NO_TARGET) -> Text:
    """Render a diagnostic as rustc does: location, line, caret, notes and remedy, for a command's target."""
    from rich.text import Text

    color = "red" if found.severity == "error" else "yellow"
    text = Text.assemble(
        (f"{found.severity}[{found.code}]", f"bold {color}"), (f": {clean(found.message)}", "bold")
    )
    location = found.location
    margin = " " * len(str(location.line)) if location else " "
    if location:
        text.append(f"\n{margin}--> ", "blue").append(clean(str(location)))
    if location and found.line:
        line, before, carets = excerpt(found.line, location.column, location.end, width - len(margin) - 3)
        text.append(f"\n{margin} |\n{location.line} | ", "blue").append(line)
        text.append(f"\n{margin} | ", "blue").append(" " * before + "^" * carets, f"bold {color}")
    for note in found.notes:
        suffix = f": {clean(str(note.location))}" if note.location else ""
        text.append(f"\n{margin} = ", "blue").append("note: ", "bold").append(clean(note.message) + suffix)
    if found.help:
        text.append(f"\n{margin} = ", "blue").append("help: ", "bold green").append(
            clean(for_target(found.help, target))
        )
    return text


def excerpt(line: str, column: int, end: int, room: int) -> tuple[str, int, int]:
    """Return as much of a line as fits in `room` cells, the cells before the carets, and the carets.

    Columns count characters from 1. Cells count columns of a terminal: two for a wide character, four for
    a tab.
    """
    room = max(room, 20)
    first = min(max(column - 1, 0), len(line))
    last = min(max(end - 1, first + 1), len(line))
    start, stop = max(0, first - room), min(len(line), first + room)
    cells = [clean(character) for character in line[start:stop]]
    at = first - start
    if start > 0 or stop < len(line) or _width(cells) > room:
        cells, at, start = _window(cells, at, room, start > 0, stop < len(line))
    carets = _width(cells[at : at + max(last - first, 1)]) if last > first else 1
    before = _width(cells[:at])
    return "".join(cells), before, max(1, min(carets, room - before))


def _window(
    cells: list[str], at: int, room: int, more_left: bool, more_right: bool
) -> tuple[list[str], int, int]:
    """Cut the cells around the caret, with … where some are cut off."""
    widths = [_width([cell]) for cell in cells]
    left, width = 0, sum(widths[:at])
    while width > room // 2:
        width -= widths[left]
        left += 1
    right, width = len(cells), sum(widths[left:])
    while right > at + 1 and width > room - 2:
        right -= 1
        width -= widths[right]
    head = ["…"] if left or more_left else []
    tail = ["…"] if right < len(cells) or more_right else []
    return [*head, *cells[left:right], *tail], at - left + len(head), left


def _width(cells: Sequence[str]) -> int:
    from rich.cells import cell_len

    return sum(map(cell_len, cells))


_SHOWN = 5
"""Warnings of one code that are shown in full."""


def first_warnings(diagnostics: Sequence[Diagnostic]) -> tuple[list[Diagnostic], list[str]]:
    """Return errors and the first warnings of each code, and a line for each code that has more."""
    seen: Counter[str] = Counter()
    shown: list[Diagnostic] = []
    for found in diagnostics:
        seen[found.code] += found.severity == "warning"
        if found.severity == "error" or seen[found.code] <= _SHOWN:
            shown.append(found)
    return shown, [
        f"warning[{code}]: {count(number - _SHOWN, 'more warning')} of this kind; --output json lists all"
        for code, number in seen.items()
        if number > _SHOWN
    ]


def summary(diagnostics: Sequence[Diagnostic], models: int | None = None) -> str:
    """Return a line such as `2 errors, 1 warning in 14 models`."""
    errors = sum(found.severity == "error" for found in diagnostics)
    warnings = len(diagnostics) - errors
    counts = [f"{count(errors, 'error')}" if errors else "", count(warnings, "warning") if warnings else ""]
    within = f" in {count(models, 'model')}" if models is not None else ""
    return ", ".join(filter(None, counts)) + within


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_data(found: Diagnostic, target: TargetOptions = NO_TARGET) -> dict[str, Any]:
    """Return a diagnostic as in --output json."""
    return {
        "code": found.code,
        "severity": found.severity,
        "message": found.message,
        **_location_data(found.location),
        "help": for_target(found.help, target),
        "notes": [{"message": note.message, **_location_data(note.location)} for note in found.notes],
        "line_text": found.line,
    }


def _location_data(location: Location | None) -> dict[str, Any]:
    if location is None:
        return {"path": None, "line": None, "column": None, "end": None}
    return {"path": location.path, "line": location.line, "column": location.column, "end": location.end}


def with_lines(diagnostics: Sequence[Diagnostic], root: Path) -> list[Diagnostic]:
    """Add the source lines to diagnostics; not for profiles.yml, whose lines may contain secrets."""
    texts: dict[str, Source] = {}

    def line_of(location: Location) -> str:
        path = location.path
        if path not in texts:
            try:
                link = (root / path).is_symlink() and forbidden_target(
                    str(root), path, path.rpartition("/")[0]
                )
                content = "" if link else read_data(str(root / path)).decode("utf-8-sig")
            except (OSError, ValueError):
                content = ""
            texts[path] = Source(path, content.replace("\r\n", "\n").replace("\r", "\n"))
        return texts[path].line(location.line)

    return [
        msgspec.structs.replace(found, line=line_of(found.location))
        if found.location and not found.line and found.location.path.rpartition("/")[2] != "profiles.yml"
        else found
        for found in diagnostics
    ]
