"""What two spellings of SQL have in common if they differ in layout and in the case of keywords only."""

from __future__ import annotations

from msgspec import Struct
from sqlglot import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql.tokens import SPARK

_NAMES = frozenset((TokenType.VAR, TokenType.IDENTIFIER))
_QUOTES = ("'", '"', "`")
_KEYWORDS = frozenset(
    (
        "by", "current", "delay", "distribute", "exclude", "following", "groups", "ignore", "last", "nulls",
        "of", "outer", "preceding", "replace", "respect", "row", "rows", "similar", "sort", "to", "unbounded",
        "watermark", "within",
    )
)  # fmt: skip
"""Keywords that sqlglot returns as names."""


class ComparableTokens(Struct, frozen=True):
    words: tuple[str, ...]
    """Keywords in lower case; names, texts and numbers as written."""
    comments: tuple[str, ...]
    """Sorted, since a layout may move a comment to another line."""


def comparable_tokens(sql: str) -> ComparableTokens | None:
    """Return the tokens and comments; None if a text or comment is not closed."""
    try:
        tokens = SPARK.tokenize(sql)
    except TokenError:
        return None
    comments = [" ".join(comment.split()) for token in tokens for comment in token.comments or ()]
    return ComparableTokens(tuple(_word(sql, token) for token in tokens), tuple(sorted(comments)))


def _word(sql: str, token: Token) -> str:
    written = sql[token.start : token.end + 1]
    if written.endswith(_QUOTES):
        return written
    if token.token_type in _NAMES and token.text.lower() not in _KEYWORDS:
        return written
    return " ".join(written.lower().split())
