"""Finds the token that does not go with those before it, where the parser stops behind it."""

from bisect import bisect_right

from sqlglot.tokenizer_core import Token, TokenType

from millstream.core.errors import did_you_mean, looks_like
from millstream.sql.tokens import MARK
from millstream.sql.values import SqlDiagnostic
from millstream.sql.words import CLOSING, KEYWORDS, NAMES, OPENING

_VALUES = NAMES | CLOSING | {TokenType.NUMBER, TokenType.STRING, TokenType.NULL, TokenType.END}
"""Tokens that end a value."""
_CLAUSES = frozenset(
    (TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING)
)


def unexpected_token(tokens: list[Token], stop: int) -> tuple[Token, int | None]:
    """Return the unexpected token and where the one before it ends; the parser stopped at `stop`.

    In `select a b.c` and `select a f(b)`, the parser takes `b` and `f` for the alias of `a`.
    """
    index = first = max(0, bisect_right(tokens, stop, key=lambda token: token.start) - 1)
    if index > 1 and tokens[index].text in {"(", "."} and _follows_value(tokens, index - 1):
        first -= 1
        index -= _in_select(tokens, first)
    return tokens[index], tokens[first - 1].end if first else None


def opened_before(tokens: list[Token], stop: int) -> tuple[tuple[int, int | None], ...]:
    """Return the innermost parenthesis or bracket that is still open at `stop`, and those within it.

    Each with where it is closed. Empty if none is open.
    """
    closing: list[int] = []
    opened: list[tuple[int, int | None]] = []
    for token in reversed(tokens):
        if token.start >= stop:
            continue
        if token.token_type in CLOSING:
            closing.append(token.start)
        elif token.token_type in OPENING:
            opened.insert(0, (token.start, closing.pop() if closing else None))
            if opened[0][1] is None:
                return tuple(opened)
    return ()


def word_like_keyword(tokens: list[Token], stop: int) -> SqlDiagnostic | None:
    """Return the error of a word up to `stop` that only looks like a keyword."""
    for token in tokens:
        name = token.text.removesuffix(MARK)
        if token.start > stop or token.token_type != TokenType.VAR:
            continue
        if (meant := looks_like(name, KEYWORDS)) is not None:
            remedy = did_you_mean(name, [meant], f"did you mean '{meant}'?")
            return SqlDiagnostic("MS401", f"unexpected '{name}'", token.start, token.end + 1, remedy, name)
    return None


def _follows_value(tokens: list[Token], index: int) -> bool:
    """Return whether a word follows a value, without an operator or AS."""
    return tokens[index].text[:1].isalpha() and tokens[index - 1].token_type in _VALUES


def _in_select(tokens: list[Token], index: int) -> bool:
    """Return whether a token is in a SELECT list, where it can be an alias."""
    depth = 0
    for token in reversed(tokens[:index]):
        depth += (token.token_type in CLOSING) - (token.token_type in OPENING)
        if depth < 0 or (depth == 0 and token.token_type in _CLAUSES):
            return token.token_type == TokenType.SELECT
    return False
