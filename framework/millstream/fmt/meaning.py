"""Whether two texts of a file differ in layout only."""

from __future__ import annotations

import hashlib
import re

from millstream.project.template_pieces import TemplatePiece, split_template
from millstream.sql.comparable_tokens import ComparableTokens, comparable_tokens

_OF_MACROS = ("macro ", "endmacro", "test ", "endtest")
"""White space there is next to the call of the macro, whose rendered SQL is compared."""
_TRIMMED = re.compile("\x00\\s*")


def same_source(before: str, after: str, *, glued: bool) -> bool:
    """Return whether two templates have the same tokens, texts, comments and Jinja.

    With `glued`, also whether statements such as `{% if … %}` have white space on the same sides: without it,
    what renders on both sides may become one word.
    """
    old = _tokens(before, glued=glued)
    return old is not None and old == _tokens(after, glued=glued)


def _tokens(text: str, *, glued: bool) -> tuple[ComparableTokens, tuple[str, ...]] | None:
    pieces = split_template(text)
    if pieces is None:
        return None
    tokens = comparable_tokens(_without_tags(pieces, glued=glued))
    comments = tuple(piece.text for piece in pieces if piece.kind == "comment")
    return None if tokens is None else (tokens, comments)


def _without_tags(pieces: tuple[TemplatePiece, ...], *, glued: bool) -> str:
    """Return the SQL with a word in place of each tag, next to what it is next to."""
    parts: list[str] = []
    for piece in pieces:
        if piece.trims_before and parts:
            parts[-1] = parts[-1].rstrip()
        parts.append(_in_place_of(piece, glued=glued))
        if piece.trims_after:
            parts.append("\0")
    return _TRIMMED.sub("", "".join(parts))


def _in_place_of(piece: TemplatePiece, *, glued: bool) -> str:
    match piece.kind:
        case "sql":
            return piece.text
        case "comment":
            return ""
        case "statement" if not glued or piece.text.startswith(_OF_MACROS):
            return f" {_word_of(piece)} "
        case _:
            return _word_of(piece)


def _word_of(piece: TemplatePiece) -> str:
    trims = f"{piece.trims_before:d}{piece.trims_after:d}"
    return f"__{hashlib.blake2b(f'{piece.kind}{trims}{piece.text}'.encode(), digest_size=8).hexdigest()}__"
