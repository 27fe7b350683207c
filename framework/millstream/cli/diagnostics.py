"""Diagnostics as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from millstream.cli.remedies import NO_OPTIONS, RepeatedOptions, with_options
from millstream.core.diagnostic_text import DiagnosticPart, diagnostic_lines
from millstream.core.errors import Diagnostic, DiagnosticNote
from millstream.core.text import FileText, Location
from millstream.project.files import forbidden_target, read_data

if TYPE_CHECKING:
    from rich.text import Text


def render_diagnostic(diagnostic: Diagnostic, width: int = 80, target: RepeatedOptions = NO_OPTIONS) -> Text:
    """Render a diagnostic in color, with its remedy for a command's target."""
    from rich.text import Text

    color = "red" if diagnostic.severity == "error" else "yellow"
    styles: dict[DiagnosticPart, str] = {
        "severity": f"bold {color}",
        "message": "bold",
        "gutter": "blue",
        "caret": f"bold {color}",
        "note": "bold",
        "help": "bold green",
        "text": "",
    }
    shown = msgspec.structs.replace(diagnostic, help=with_options(diagnostic.help, target))
    lines = (
        Text.assemble(*((text, styles[part]) for text, part in line))
        for line in diagnostic_lines(shown, width)
    )
    return Text("\n").join(lines)


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


def as_data(diagnostic: Diagnostic, target: RepeatedOptions = NO_OPTIONS) -> dict[str, Any]:
    """Return a diagnostic as in --output json."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        **_location_data(diagnostic.location),
        "help": with_options(diagnostic.help, target),
        "notes": [{"message": note.message, **_location_data(note.location)} for note in diagnostic.notes],
        "line_text": diagnostic.line,
    }


def from_data(data: Mapping[str, Any]) -> Diagnostic:
    """Return a diagnostic of --output json, whose remedy has the options of the command already."""
    notes = tuple(DiagnosticNote(note["message"], _location(note)) for note in data["notes"])
    return Diagnostic(
        data["code"],
        data["message"],
        _location(data),
        data["help"],
        data.get("line_text") or "",
        notes,
        data["severity"],
    )


def _location(data: Mapping[str, Any]) -> Location | None:
    if data.get("path") is None:
        return None
    return Location(data["path"], data["line"], data["column"], data["end"])


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
