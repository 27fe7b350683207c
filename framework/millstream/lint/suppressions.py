"""Comments that ignore a finding: `-- lint: ignore lossy-cast: only whole cents arrive`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from millstream.core.text import FileText, Location

_COMMENT = re.compile(
    r"(?P<opened>--|\{#-?|(?<![{\w])#)[ \t]*lint:[ \t]*ignore[ \t]+(?P<rules>[\w-]+(?:[ \t]*,[ \t]*[\w-]+)*)"
    r"(?:[ \t]*:[ \t]*(?P<reason>[^\n]*?))?[ \t]*(?P<closed>-?#\})?[ \t]*$",
    re.MULTILINE,
)


class Suppression(Struct, frozen=True):
    rules: tuple[str, ...]
    reason: str
    location: Location
    lines: tuple[int, ...]
    """The lines whose findings it ignores."""
    start: int
    stop: int
    """Its span in the file, with the whole line if it has nothing else."""

    def covers(self, rule: str, line: int) -> bool:
        return bool(self.reason) and rule in self.rules and line in self.lines


def read_suppressions(text: FileText) -> Iterator[Suppression]:
    for match in _COMMENT.finditer(text.content):
        location = text.location(match.start("opened"), match.end())
        before = text.line(location.line)[: location.column - 1]
        start, stop = match.start(), match.end()
        lines = [location.line]
        if before.strip():
            start = match.start() - (len(before) - len(before.rstrip()))
        else:
            start, stop = match.start() - len(before), min(match.end() + 1, len(text.content))
            lines.append(_next_line(text, location.line))
        rules = tuple(name.strip() for name in match["rules"].split(","))
        yield Suppression(rules, (match["reason"] or "").strip(), location, tuple(lines), start, stop)


def _next_line(text: FileText, line: int) -> int:
    """Return the next line with something else than a comment."""
    last = text.content.count("\n") + 1
    line += 1
    while line < last and (not text.line(line).strip() or _is_comment(text.line(line))):
        line += 1
    return line


def _is_comment(line: str) -> bool:
    return bool(re.match(r"\s*(--|\{#.*#\}\s*$|#)", line))
