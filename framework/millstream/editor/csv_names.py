"""The names of columns in CSV: of seeds, and of rows in unit tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

from yaml.nodes import ScalarNode

from millstream.core.text import FileText, Location
from millstream.project.yaml import node_span


def header_location(text: FileText, column: str) -> Location | None:
    """Return where the first line of a CSV file names a column."""
    first, _, _ = text.content.partition("\n")
    span = _name_in(first, column)
    return None if span is None else text.location(*span)


def _name_in(header: str, column: str) -> tuple[int, int] | None:
    """Return the span of a column's name between separators, quoted or not."""
    name = re.search(rf"(?<![^,;|\t\" ]){re.escape(column)}(?![^,;|\t\" ])", header, re.IGNORECASE)
    return None if name is None else name.span()


def header_in_yaml(text: FileText, rows: ScalarNode, column: str) -> Iterator[Location]:
    """Yield where CSV that is written in YAML names a column in its first line."""
    start, stop = node_span(text, rows)
    if rows.style in {"|", ">"}:
        start = text.content.index("\n", start) + 1
    written = text.content[start:stop]
    lines = written.split("\n")
    skipped = next((number for number, line in enumerate(lines) if line.strip()), 0)
    offset = start + sum(len(line) + 1 for line in lines[:skipped])
    if (span := _name_in(lines[skipped], column)) is not None:
        yield text.location(offset + span[0], offset + span[1])
