"""Opaque SQL, which runs unchanged: only the relations that it reads are known."""

from __future__ import annotations

import re

from millstream.core.expressions import Piece, Read, joined, quoted
from millstream.sql.clauses import SqlTokens
from millstream.sql.reading import without_comments, without_path
from millstream.sql.token_roles import Marks

_SPACES = re.compile(r"\s+")


def opaque_pieces(source: SqlTokens, marks: Marks) -> tuple[Piece, ...]:
    """Return all of the SQL, with the relations that it reads as separate pieces."""
    pieces: list[Piece] = []
    tokens, position, index = source.tokens, 0, 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.start < position:
            continue
        pieces.append(_gap(source.sql[position : token.start]))
        if (stop := marks.skipped.get(token.start)) is not None:
            position = stop
            continue
        if token.start in marks.opened:
            pieces.append("(")
        named, column = marks.relations.get(token.start), marks.references.get(token.start)
        position = token.end + 1
        if named is not None:
            pieces.append(Read(named.id))
            position = _before_alias(source, named.stop) if named.alias else named.stop
            pieces.append(_gap(source.sql[named.stop : position]))
            pieces += [f" as {quoted(named.alias)}"] if named.alias else []
        elif column is not None and column.by_path:
            position = column.stop
            pieces += without_path(column)
        else:
            pieces.append(source.sql[token.start : position])
        pieces += marks.closed.get(position, ())
    return joined([*pieces, _gap(source.sql[position:])])


def _before_alias(source: SqlTokens, stop: int) -> int:
    """Return the position of a relation's alias: after TABLESAMPLE and WATERMARK."""
    index = source.index_at(stop)
    tokens = source.tokens
    end = tokens[index].start if index < len(tokens) else len(source.sql)
    if not _gap(source.sql[stop:end]).isspace() and end > stop:
        return len(source.sql[:end].rstrip())
    if index + 1 < len(tokens) and tokens[index].text.lower() == "tablesample":
        return tokens[source.match[index + 1]].end + 1
    return stop


def _gap(text: str) -> str:
    """Return the text between tokens: a space, or what was hidden from the parser."""
    if not text:
        return ""
    text = without_comments(text)
    return text if "'" in text else _SPACES.sub(" ", text)
