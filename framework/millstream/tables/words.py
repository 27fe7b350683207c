"""The words of an SQL text: enough to see what it names and that it only reads, in any dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

Kind = Literal["name", "quoted", "sign"]
_TOKEN = re.compile(
    r"""(?P<skipped>\s+|--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|\d[\w.]*)
    |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)|(?P<name>[^\W\d]\w*)|(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)


class Word(Struct, frozen=True):
    kind: Kind
    name: str
    """Without its quotes."""
    start: int
    stop: int


def words(sql: str) -> list[Word]:
    """Return names and signs; texts, numbers and comments name nothing."""
    found: list[Word] = []
    for match in _TOKEN.finditer(sql):
        text = match.group()
        match match.lastgroup:
            case "quoted":
                plain = text[1:-1].replace(text[0] * 2, text[0])
                found.append(Word("quoted", plain, match.start(), match.end()))
            case "name":
                found.append(Word("name", text, match.start(), match.end()))
            case "sign":
                found.append(Word("sign", text, match.start(), match.end()))
    return found


def mentions(sql: str) -> Iterator[tuple[str, Word]]:
    """Yield every name, also `schema.table` as one, with the word that it begins with."""
    found = words(sql)
    for index, word in enumerate(found):
        if word.kind == "sign":
            continue
        yield word.name, word
        following = found[index + 1 : index + 3]
        if len(following) == 2 and following[0].name == "." and following[1].kind != "sign":
            yield f"{word.name}.{following[1].name}", word


def writing_word(sql: str) -> Word | None:
    """Return the word by which a statement is more than a query, else None."""
    found = [word for word in words(sql) if word.name not in {"(", ";"}]
    if not found:
        return None
    if found[0].kind != "name" or found[0].name.lower() not in {"select", "with", "values", "from"}:
        return found[0]
    # `select … into t` makes a table.
    return next((word for word in found if word.kind == "name" and word.name.lower() == "into"), None)


def respelled(sql: str, names: Mapping[str, str]) -> str:
    """Write names as they are defined: `names` has them by their lower case form.

    Spark's names are the same in any case, DataFusion's are not. Aliases stay, and what is called.
    """
    parts: list[str] = []
    end = 0
    found = words(sql)
    for before, word, after in zip([None, *found], found, [*found[1:], None], strict=False):
        known = names.get(word.name.lower()) if word.kind == "name" else None
        alias = before is not None and before.name.lower() == "as"
        called = after is not None and after.name == "("
        if known is not None and known != word.name and not alias and not called:
            parts += [sql[end : word.start], f'"{known}"']
            end = word.stop
    return "".join([*parts, sql[end:]])


def quoted(name: str) -> str:
    """Return a name as standard SQL takes it as it is."""
    return '"' + name.replace('"', '""') + '"'
