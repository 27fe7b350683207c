"""Finds where the expression, the data test or the source is written at which a query failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from millstream.compile.assemble import name_tests
from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.core.text import FileText, Location
from millstream.project.values import Project, SqlFile

_QUOTED = re.compile(r"^== SQL[^\n]*==\n((?:[^\n]*\n *\^+ *(?:\n|$))+)", re.MULTILINE)
_OF_TEST = re.compile(r"model (\w+), test ")
_NOISE = re.compile(
    r"--[^\n]*|/\*.*?\*/|[\s()\"`]+|(?<![\w.])[a-z_]\w*\.(?=[a-z_\"`])", re.DOTALL | re.IGNORECASE
)
"""What differs between the SQL of a model and the SQL that runs: layout, parentheses, quotes, qualifiers."""


def quoted_expression(error: str) -> str:
    """Return the expression that an error of Spark marks in the SQL; empty if there is none."""
    match = _QUOTED.search(error)
    if match is None:
        return ""
    lines = match[1].splitlines()
    parts = (
        text[marks.index("^") : len(marks.rstrip())]
        for text, marks in zip(lines[::2], lines[1::2], strict=False)
    )
    return " ".join(" ".join(parts).split())


def at_line(diagnostic: Diagnostic, error: str, files: Iterable[SqlFile]) -> Diagnostic:
    """Return a problem with the expression that Spark marks, and where it is, if that is one place alone."""
    if not (expression := quoted_expression(error)):
        return diagnostic
    named = replace(diagnostic, message=f"{diagnostic.message} In: {expression}")
    positions = [(file, *span) for file in files for span in _positions(expression, file.content)]
    if len(positions) != 1:
        return named
    file, start, end = positions[0]
    text = FileText(file.path, file.content)
    location = text.location(start, end)
    return replace(diagnostic, location=location, line=text.line(location.line))


def at_test(diagnostic: Diagnostic, project: Project) -> Diagnostic:
    """Return the error of rows that fail a data test with where YAML names the test."""
    match = _OF_TEST.search(diagnostic.message)
    properties = next(
        (declared for declared in project.properties.values() if match and declared.name == match[1]), None
    )
    if properties is None:
        return diagnostic
    for label, _, test in name_tests(NodeId("model", properties.name), properties.columns, properties.tests):
        if re.search(rf"test {re.escape(label)}[:,]", diagnostic.message):
            return _located_at(diagnostic, test.location, project)
    return diagnostic


def at_source(diagnostic: Diagnostic, relations: Iterable[NodeId], project: Project) -> Diagnostic:
    """Return the error of a query that reads one source of rows with where YAML declares that."""
    sources = [project.sources[relation.name] for relation in relations]
    if diagnostic.location is not None or len(sources) != 1:
        return diagnostic
    return _located_at(diagnostic, sources[0].location, project)


def _located_at(diagnostic: Diagnostic, location: Location, project: Project) -> Diagnostic:
    path = Path(project.root) / location.path
    text = FileText(location.path, path.read_text(encoding="utf-8")) if path.is_file() else None
    return replace(diagnostic, location=location, line=text.line(location.line) if text else "")


def _positions(expression: str, content: str) -> Iterator[tuple[int, int]]:
    plain_expression, _ = _plain(expression)
    written, offsets = _plain(content)
    start = written.find(plain_expression) if plain_expression else -1
    while start >= 0:
        first, end = offsets[start], offsets[start + len(plain_expression) - 1] + 1
        if not re.match(r"\w", content[end : end + 1]) and not re.match(r"\w", content[first - 1 : first]):
            yield first, end
        start = written.find(plain_expression, start + 1)


def _plain(sql: str) -> tuple[str, list[int]]:
    """Return SQL without what makes no difference, and where each of its characters was."""
    offsets: list[int] = []
    position = 0
    for noise in _NOISE.finditer(sql):
        offsets += range(position, noise.start())
        position = noise.end()
    offsets += range(position, len(sql))
    return "".join(sql[offset].lower() for offset in offsets), offsets
