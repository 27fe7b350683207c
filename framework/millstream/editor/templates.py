"""What surrounds a cursor in a template: tags, calls and their texts, also incomplete ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.editor.values import Cursor

_TAG = re.compile(r"\{([{%])[-+]?(.*?)(?:[-+]?[}%]\}|\Z)", re.DOTALL)
_OPEN_TAG = re.compile(r"\{([{%])[-+]?((?:(?![}%]\}).)*)\Z", re.DOTALL)
_CALL = re.compile(r"\b(ref|source)\(\s*(['\"])([\w.]*)\2\s*(?:,\s*(['\"])([\w.]*)\4\s*)?\)")
_WORD = re.compile(r"\w+")
_QUOTED_OR_WORD = re.compile(r"'[^']*'?|\"[^\"]*\"?|\w+|\S")


class RelationCall(Struct, frozen=True):
    """A complete `ref('x')` or `source('a', 'b')`."""

    id: NodeId
    start: int
    stop: int
    """The span of its last name, without quotes."""
    call_start: int
    call_stop: int


class OpenCall(Struct, frozen=True):
    """A call that is not closed before the cursor."""

    name: str
    arguments: tuple[str, ...]
    """The texts of its arguments before the last one, without quotes."""
    keyword: str
    """The name of the argument at the cursor, as in `config(materialized=`."""
    text: str | None
    """What the argument at the cursor has so far of a quoted text; None outside of quotes."""


def relation_calls(content: str) -> Iterator[RelationCall]:
    """Yield the calls of `ref` and `source` in a template or in YAML."""
    for match in _CALL.finditer(content):
        function, first, second = match[1], match[3], match[5]
        group = 5 if second is not None else 3
        if function == "ref" and match[group]:
            id_ = NodeId("model", match[group])
        elif function == "source" and first and second:
            id_ = NodeId("source", f"{first}.{second}")
        else:
            continue
        yield RelationCall(id_, *match.span(group), *match.span())


def tag_at(content: str, offset: int) -> tuple[int, int] | None:
    """Return the span of the content of the tag around an offset."""
    start = max(content.rfind("{{", 0, offset), content.rfind("{%", 0, offset))
    match = _TAG.match(content, start) if start >= 0 else None
    return match.span(2) if match and match.start(2) <= offset <= match.end(2) else None


def word_at(content: str, offset: int) -> tuple[str, int, int]:
    """Return the word around an offset, and its span; an empty one if there is none."""
    start = offset
    while start and (content[start - 1].isalnum() or content[start - 1] == "_"):
        start -= 1
    match = _WORD.match(content, start)
    return (match[0], *match.span()) if match else ("", offset, offset)


def open_call(cursor: Cursor) -> OpenCall | None:
    """Return the innermost call around the cursor, if it is in a tag."""
    tag = _OPEN_TAG.search(cursor.before)
    if tag is None:
        return None
    opened: list[tuple[str, list[str]]] = []
    before = ""
    for match in _QUOTED_OR_WORD.finditer(tag[2]):
        written = match[0]
        if written in "([{":
            opened.append((before if written == "(" and before.isidentifier() else "", []))
        elif written in ")]}" and opened:
            opened.pop()
        elif opened:
            opened[-1][1].append(written)
        before = written
    for name, tokens in reversed(opened):
        if name:
            return _open_call(name, tokens)
    return None


def _open_call(name: str, tokens: list[str]) -> OpenCall:
    arguments: list[list[str]] = [[]]
    for written in tokens:
        if written == ",":
            arguments.append([])
        else:
            arguments[-1].append(written)
    last = arguments.pop()
    keyword = last[0] if len(last) > 1 and last[1] == "=" else ""
    end = last[-1] if last else ""
    quoted = end[:1] in {"'", '"'} and (len(end) == 1 or end[-1] != end[0])
    texts = tuple("".join(argument).strip("'\"") for argument in arguments)
    return OpenCall(name, texts, keyword, end[1:] if quoted else None)


def in_open_tag(cursor: Cursor) -> bool:
    """Return whether the cursor is within a tag."""
    return _OPEN_TAG.search(cursor.before) is not None
