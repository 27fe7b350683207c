"""Quick fixes: remedies of diagnostics that can be carried out mechanically."""

from __future__ import annotations

import re
from collections.abc import Iterator

from millstream.core.errors import Diagnostic
from millstream.core.text import FileText, Location
from millstream.editor.project import EditorProject
from millstream.editor.values import Changes, QuickFix, TextChange

_MEANT = re.compile(r"did you mean '([^']+)'\?")
_QUOTED = re.compile(r"'([^']+)'")
_ANY_VALUE = re.compile(r"use (any_value\([\w.`]+\))")
_CAST = re.compile(r"^cast it: cast\(… as ([^)]*(?:\(\d+,\d+\))?[^)]*)\)$")
_WRITE_ONE_OF = re.compile(r"^write ((?:[\w.`]+ or )*[\w.`]+)$")


def find_fixes(view: EditorProject, path: str, content: str, first: int, last: int) -> list[QuickFix]:
    """Return the fixes of diagnostics on lines from `first` to `last`, which count from 1."""
    text = FileText(path, content)
    return [
        QuickFix(f"Change to '{replacement}'", diagnostic, Changes((TextChange(location, replacement),)))
        for diagnostic in view.compiled.diagnostics
        if (where := diagnostic.location) and where.path == path and first <= where.line <= last
        for location, replacement in _replacements(text, diagnostic, where)
    ]


def _replacements(text: FileText, diagnostic: Diagnostic, where: Location) -> Iterator[tuple[Location, str]]:
    marked = text.line(where.line)[where.column - 1 : where.end - 1]
    if meant := _MEANT.search(diagnostic.help):
        if (wrong := _wrong_name(diagnostic, where, marked)) is not None:
            yield wrong, meant[1]
    elif value := _ANY_VALUE.search(diagnostic.help):
        yield where, value[1]
    elif cast := _CAST.match(diagnostic.help):
        yield where, f"cast({marked} as {cast[1]})"
    elif diagnostic.code == "MS403" and (choices := _WRITE_ONE_OF.match(diagnostic.help)):
        yield from ((where, name) for name in choices[1].split(" or "))


def _wrong_name(diagnostic: Diagnostic, where: Location, marked: str) -> Location | None:
    """Return the location of the name that the message quotes, in what it marks."""
    for name in _QUOTED.findall(diagnostic.message):
        found_name = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", marked)
        if found_name is not None:
            start = where.column + found_name.start()
            return Location(where.path, where.line, start, start + len(name))
    return None
