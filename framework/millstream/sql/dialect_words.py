"""Splits SQL of any dialect into words, enough to find the names in it and to check that it only reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, cast

from msgspec import Struct

Kind = Literal["name", "quoted", "sign"]
_TOKEN = re.compile(
    r"""(?P<skipped>\s+|--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|\d[\w.]*)
    |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)|(?P<name>[^\W\d]\w*)|(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)


class SqlWord(Struct, frozen=True):
    kind: Kind
    name: str
    start: int
    stop: int


def read_words(sql: str) -> list[SqlWord]:
    """Return names and signs; texts, numbers and comments are skipped."""
    tokens: list[SqlWord] = []
    for match in _TOKEN.finditer(sql):
        text, kind = match.group(), match.lastgroup
        if kind == "quoted":
            text = text[1:-1].replace(text[0] * 2, text[0])
        if kind != "skipped":
            tokens.append(SqlWord(cast("Kind", kind), text, match.start(), match.end()))
    return tokens


def mentioned_names(sql: str) -> Iterator[tuple[str, SqlWord]]:
    """Yield every name with its first word; `schema.table` is also yielded as one name."""
    tokens = read_words(sql)
    for index, word in enumerate(tokens):
        if word.kind == "sign":
            continue
        yield word.name, word
        following = tokens[index + 1 : index + 3]
        if len(following) == 2 and following[0].name == "." and following[1].kind != "sign":
            yield f"{word.name}.{following[1].name}", word


def first_mention(sql: str, name: str) -> int | None:
    """Return where a name is first written, in any case."""
    return next(
        (word.start for mention, word in mentioned_names(sql) if mention.lower() == name.lower()), None
    )


def writing_word(sql: str) -> SqlWord | None:
    """Return the word by which a statement is not only a query, or None."""
    tokens = [word for word in read_words(sql) if word.name not in {"(", ";"}]
    if not tokens:
        return None
    if tokens[0].kind != "name" or tokens[0].name.lower() not in {"select", "with", "values", "from"}:
        return tokens[0]
    # `select … into t` creates a table.
    return next((word for word in tokens if word.kind == "name" and word.name.lower() == "into"), None)


def respell_names(sql: str, names: Mapping[str, str]) -> str:
    """Spell names as they are defined; `names` has them by their lower case form.

    Names in Spark are case-insensitive, in DataFusion they are not. Aliases and functions stay unchanged.
    """
    parts: list[str] = []
    end = 0
    tokens = read_words(sql)
    for old, word, new in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        defined = names.get(word.name.lower()) if word.kind == "name" else None
        alias = old is not None and old.name.lower() == "as"
        is_function = new is not None and new.name == "("
        if defined is not None and defined != word.name and not alias and not is_function:
            parts += [sql[end : word.start], f'"{defined}"']
            end = word.stop
    return "".join([*parts, sql[end:]])


def quote_standard(name: str) -> str:
    """Return a quoted name in standard SQL."""
    return '"' + name.replace('"', '""') + '"'
