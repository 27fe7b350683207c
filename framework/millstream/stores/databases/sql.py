"""Writes SQL with quoted names, which PostgreSQL and MySQL (with ANSI_QUOTES) read in the same way."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.sql.dialect_words import quote_standard


class WrittenSql(str):
    """A text that is already SQL."""

    __slots__ = ()


def write_sql(text: str, **parts: str | Iterable[str]) -> WrittenSql:
    """Fill in names, which get quoted, lists of names, and parts that are already SQL.

    Clients read `%` as the beginning of a parameter, so it is doubled in names.
    """
    return WrittenSql(text.format(**{name: _written(part) for name, part in parts.items()}))


def _written(part: str | Iterable[str]) -> str:
    if isinstance(part, WrittenSql):
        return part
    if isinstance(part, str):
        return quote_standard(part).replace("%", "%%")
    return ", ".join(map(_written, part))


def parameters(values: Iterable[object]) -> WrittenSql:
    """Return a list of as many parameters."""
    return WrittenSql(", ".join("%s" for _ in values))
