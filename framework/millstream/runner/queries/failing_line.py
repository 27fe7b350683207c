"""Finds the line of a model whose expression failed on a row, from the SQL that Spark quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from millstream.errors import Diagnostic
from millstream.project.values import SqlFile
from millstream.text import Text

_QUOTED = re.compile(r"^== SQL[^\n]*==\n((?:[^\n]*\n *\^+ *(?:\n|$))+)", re.MULTILINE)
_NOISE = re.compile(
    r"--[^\n]*|/\*.*?\*/|[\s()\"`]+|(?<![\w.])[a-z_]\w*\.(?=[a-z_\"`])", re.DOTALL | re.IGNORECASE
)
"""What differs between the SQL of a model and the SQL that runs: layout, parentheses, quotes, qualifiers."""


def quoted_expression(error: str) -> str:
    """Return the expression that an error of Spark marks in the SQL; empty if there is none."""
    found = _QUOTED.search(error)
    if found is None:
        return ""
    lines = found[1].splitlines()
    parts = (
        text[marks.index("^") : len(marks.rstrip())]
        for text, marks in zip(lines[::2], lines[1::2], strict=False)
    )
    return " ".join(" ".join(parts).split())


def at_line(problem: Diagnostic, error: str, files: Iterable[SqlFile]) -> Diagnostic:
    """Return a problem with the expression that Spark marks, and where it is, if that is one place alone."""
    if not (expression := quoted_expression(error)):
        return problem
    named = replace(problem, message=f"{problem.message} In: {expression}")
    places = [(file, *place) for file in files for place in _places(expression, file.content)]
    if len(places) != 1:
        return named
    file, start, end = places[0]
    text = Text(file.path, file.content)
    location = text.location(start, end)
    return replace(problem, location=location, line=text.line(location.line))


def _places(expression: str, content: str) -> Iterator[tuple[int, int]]:
    wanted, _ = _plain(expression)
    written, offsets = _plain(content)
    start = written.find(wanted) if wanted else -1
    while start >= 0:
        first, end = offsets[start], offsets[start + len(wanted) - 1] + 1
        if not re.match(r"\w", content[end : end + 1]) and not re.match(r"\w", content[first - 1 : first]):
            yield first, end
        start = written.find(wanted, start + 1)


def _plain(sql: str) -> tuple[str, list[int]]:
    """Return SQL without what makes no difference, and where each of its characters was."""
    kept: list[int] = []
    at = 0
    for noise in _NOISE.finditer(sql):
        kept += range(at, noise.start())
        at = noise.end()
    kept += range(at, len(sql))
    return "".join(sql[each].lower() for each in kept), kept
