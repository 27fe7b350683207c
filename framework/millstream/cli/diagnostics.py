"""Diagnostics as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from millstream.cli.remedies import NO_TARGET, TargetOptions, for_target
from millstream.core.errors import Diagnostic
from millstream.core.text import FileText, Location, clean_text
from millstream.project.files import forbidden_target, read_data

if TYPE_CHECKING:
    from rich.text import Text


def render_diagnostic(diagnostic: Diagnostic, width: int = 80, target: TargetOptions = NO_TARGET) -> Text:
    """Render a diagnostic as rustc does: location, line, caret, notes and remedy, for a command's target."""
    from rich.text import Text

    color = "red" if diagnostic.severity == "error" else "yellow"
    text = Text.assemble(
        (f"{diagnostic.severity}[{diagnostic.code}]", f"bold {color}"),
        (f": {clean_text(diagnostic.message)}", "bold"),
    )
    location = diagnostic.location
    margin = " " * len(str(location.line)) if location else " "
    if location:
        text.append(f"\n{margin}--> ", "blue").append(clean_text(str(location)))
    if location and diagnostic.line:
        line, before, carets = cut_excerpt(
            diagnostic.line, location.column, location.end, width - len(margin) - 3
        )
        text.append(f"\n{margin} |\n{location.line} | ", "blue").append(line)
        text.append(f"\n{margin} | ", "blue").append(" " * before + "^" * carets, f"bold {color}")
    for note in diagnostic.notes:
        suffix = f": {clean_text(str(note.location))}" if note.location else ""
        text.append(f"\n{margin} = ", "blue").append("note: ", "bold").append(
            clean_text(note.message) + suffix
        )
    if diagnostic.help:
        text.append(f"\n{margin} = ", "blue").append("help: ", "bold green").append(
            clean_text(for_target(diagnostic.help, target))
        )
    return text


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
    from rich.cells import cell_len

    return sum(map(cell_len, cells))


_SHOWN = 5
"""Warnings of one code that are shown in full."""


def first_warnings(diagnostics: Sequence[Diagnostic]) -> tuple[list[Diagnostic], list[str]]:
    """Return errors and the first warnings of each code, and a line for each code that has more."""
    seen: Counter[str] = Counter()
    shown: list[Diagnostic] = []
    for diagnostic in diagnostics:
        seen[diagnostic.code] += diagnostic.severity == "warning"
        if diagnostic.severity == "error" or seen[diagnostic.code] <= _SHOWN:
            shown.append(diagnostic)
    return shown, [
        f"warning[{code}]: {count_of(number - _SHOWN, 'more warning')} of this kind; --output json lists all"
        for code, number in seen.items()
        if number > _SHOWN
    ]


def summarize_diagnostics(diagnostics: Sequence[Diagnostic], models: int | None = None) -> str:
    """Return a line such as `2 errors, 1 warning in 14 models`."""
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    warnings = len(diagnostics) - errors
    counts = [
        f"{count_of(errors, 'error')}" if errors else "",
        count_of(warnings, "warning") if warnings else "",
    ]
    within = f" in {count_of(models, 'model')}" if models is not None else ""
    return ", ".join(filter(None, counts)) + within


def count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_data(diagnostic: Diagnostic, target: TargetOptions = NO_TARGET) -> dict[str, Any]:
    """Return a diagnostic as in --output json."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        **_location_data(diagnostic.location),
        "help": for_target(diagnostic.help, target),
        "notes": [{"message": note.message, **_location_data(note.location)} for note in diagnostic.notes],
        "line_text": diagnostic.line,
    }


def _location_data(location: Location | None) -> dict[str, Any]:
    if location is None:
        return {"path": None, "line": None, "column": None, "end": None}
    return {"path": location.path, "line": location.line, "column": location.column, "end": location.end}


def with_lines(diagnostics: Sequence[Diagnostic], root: Path) -> list[Diagnostic]:
    """Add the source lines to diagnostics; not for profiles.yml, whose lines may contain secrets."""
    texts: dict[str, FileText] = {}

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
            texts[path] = FileText(path, content.replace("\r\n", "\n").replace("\r", "\n"))
        return texts[path].line(location.line)

    return [
        msgspec.structs.replace(diagnostic, line=line_of(diagnostic.location))
        if diagnostic.location
        and not diagnostic.line
        and diagnostic.location.path.rpartition("/")[2] != "profiles.yml"
        else diagnostic
        for diagnostic in diagnostics
    ]
