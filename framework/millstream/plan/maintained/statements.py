"""SQL that is put together from parts, which several statements share.

A CTE is read by several others, and these by others again. As text, each reader would copy it; as parts, it
is written once, and only the statements that run are copied together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

LONGEST = 1_000_000
"""Characters of a statement: Spark takes many seconds for a longer one, in each batch."""


class SqlText(Struct, frozen=True, eq=False):
    parts: tuple[str | SqlText, ...]
    length: int
    """Characters of its text, which is not written for that."""

    def text(self) -> str:
        return "".join(_texts(self))


def join_sql(*parts: str | SqlText) -> SqlText:
    return SqlText(parts, sum(len(part) if isinstance(part, str) else part.length for part in parts))


def separate_sql(separator: str, parts: Iterable[str | SqlText]) -> SqlText:
    joined: list[str | SqlText] = []
    for part in parts:
        joined += [separator, part] if joined else [part]
    return join_sql(*joined)


def _texts(root: SqlText) -> Iterator[str]:
    """Yield the texts in order, without recursion: SQL can be nested deeply."""
    pending: list[str | SqlText] = [root]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            yield part
        else:
            pending += reversed(part.parts)
