"""Splits a template into SQL and Jinja, without rendering it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from jinja2 import Environment, TemplateSyntaxError
from msgspec import Struct

PieceKind = Literal["sql", "value", "statement", "comment"]
_KINDS: dict[str, PieceKind] = {
    "variable_begin": "value",
    "block_begin": "statement",
    "raw_begin": "statement",
    "raw_end": "statement",
    "comment_begin": "comment",
}
_SPACES = re.compile(r"\s+")


class TemplatePiece(Struct, frozen=True):
    """SQL as written, or the content of a tag: its tokens with one blank between them."""

    kind: PieceKind
    text: str
    trims_before: bool = False
    """The tag begins with `{%-`: white space before it is removed."""
    trims_after: bool = False


def split_template(text: str) -> tuple[TemplatePiece, ...] | None:
    """Return the pieces of a template; None if Jinja can't read it."""
    try:
        return tuple(_pieces(text))
    except TemplateSyntaxError:
        return None


def _pieces(text: str) -> Iterator[TemplatePiece]:
    kind: PieceKind = "sql"
    tokens: list[str] = []
    trims_before = False
    for _, token, value in Environment().lex(text):  # noqa: S701 - nothing is rendered
        if token.startswith("raw_"):
            yield TemplatePiece("statement", token, *_trims(value))
        elif token in _KINDS:
            kind, tokens, trims_before = _KINDS[token], [], value.rstrip().endswith("-")
        elif token.endswith("_end"):
            yield TemplatePiece(kind, " ".join(tokens), trims_before, value.lstrip().startswith("-"))
            kind = "sql"
        elif kind == "sql":
            yield TemplatePiece("sql", value)
        elif kind == "comment":
            tokens.append(_SPACES.sub(" ", value.strip()))
        elif not token.startswith("whitespace"):
            tokens.append(value)


def _trims(tag: str) -> tuple[bool, bool]:
    return tag.lstrip().startswith("{%-"), tag.rstrip().endswith("-%}")
