"""SQL that runs as it is: only the relations that it reads are known in it."""

from __future__ import annotations

import re

from millstream.expressions import Piece, Read, joined, quoted
from millstream.sql.clauses import Source
from millstream.sql.marks import Marks
from millstream.sql.reading import without_comments, without_path

_SPACES = re.compile(r"\s+")


def whole(found: Source, marks: Marks) -> tuple[Piece, ...]:
    """Return all of the SQL, with the relations that it reads as pieces of their own."""
    pieces: list[Piece] = []
    tokens, position, index = found.tokens, 0, 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.start < position:
            continue
        pieces.append(_gap(found.sql[position : token.start]))
        named, column = marks.relations.get(token.start), marks.references.get(token.start)
        position = token.end + 1
        if named is not None:
            pieces.append(Read(named.id))
            position = _before_alias(found, named.stop) if named.alias else named.stop
            pieces.append(_gap(found.sql[named.stop : position]))
            pieces += [f" as {quoted(named.alias)}"] if named.alias else []
        elif column is not None and column.by_path:
            position = column.stop
            pieces += without_path(column)
        else:
            pieces.append(found.sql[token.start : position])
    return joined([*pieces, _gap(found.sql[position:])])


def _before_alias(found: Source, stop: int) -> int:
    """Return where the alias of a relation belongs: after TABLESAMPLE and WATERMARK."""
    index = found.at(stop)
    tokens = found.tokens
    end = tokens[index].start if index < len(tokens) else len(found.sql)
    if not _gap(found.sql[stop:end]).isspace() and end > stop:
        return len(found.sql[:end].rstrip())
    if index + 1 < len(tokens) and tokens[index].text.lower() == "tablesample":
        return tokens[found.match[index + 1]].end + 1
    return stop


def _gap(text: str) -> str:
    """Return what stands between tokens: a space, or what the parser must not see."""
    if not text:
        return ""
    text = without_comments(text)
    return text if "'" in text else _SPACES.sub(" ", text)
