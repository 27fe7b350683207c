"""Finds where the expression or the data test is written that failed on a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from millstream.compile.assemble import labelled
from millstream.errors import Diagnostic
from millstream.project.values import Project, SqlFile
from millstream.text import Text

_QUOTED = re.compile(r"^== SQL[^\n]*==\n((?:[^\n]*\n *\^+ *(?:\n|$))+)", re.MULTILINE)
_OF_TEST = re.compile(r"model (\w+), test ")
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


def at_test(problem: Diagnostic, project: Project) -> Diagnostic:
    """Return the error of rows that fail a data test with where YAML names the test."""
    found = _OF_TEST.search(problem.message)
    properties = next((each for each in project.properties.values() if found and each.name == found[1]), None)
    if properties is None:
        return problem
    for label, _, test in labelled(f"model.{properties.name}", properties.columns, properties.tests):
        if re.search(rf"test {re.escape(label)}[:,]", problem.message):
            path = Path(project.root) / test.location.path
            text = Text(test.location.path, path.read_text(encoding="utf-8")) if path.is_file() else None
            return replace(
                problem, location=test.location, line=text.line(test.location.line) if text else ""
            )
    return problem


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
