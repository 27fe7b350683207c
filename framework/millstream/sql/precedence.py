"""Whether tokens form an expression in their context: `a + 1` does not in `2 * a + 1`."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from millstream.sql.clauses import SqlTokens, TokenRange
from millstream.sql.words import NAMES

_LEVELS = {
    **dict.fromkeys((TokenType.STAR, TokenType.SLASH, TokenType.MOD, TokenType.DIV), 5),
    **dict.fromkeys((TokenType.PLUS, TokenType.DASH, TokenType.DPIPE), 4),
    **dict.fromkeys(
        (
            TokenType.EQ, TokenType.NEQ, TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE,
            TokenType.IS, TokenType.IN, TokenType.LIKE, TokenType.BETWEEN,
        ),
        2,
    ),
    TokenType.AND: 1,
    TokenType.OR: 0,
    **dict.fromkeys(
        (
            TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA, TokenType.ALIAS, TokenType.CASE,
            TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END, TokenType.SELECT,
            TokenType.DISTINCT, TokenType.FROM, TokenType.WHERE, TokenType.HAVING, TokenType.GROUP_BY,
            TokenType.PARTITION_BY, TokenType.ORDER_BY, TokenType.ASC, TokenType.DESC,
        ),
        -1,
    ),
}  # fmt: skip
"""The precedence of operators; -1 for tokens that end an expression."""
_TIGHT = 9
_SIGNS = frozenset((TokenType.DASH, TokenType.PLUS, TokenType.TILDE))
_NEUTRAL = frozenset((TokenType.NUMBER, TokenType.STRING, TokenType.DOT, TokenType.NULL, *NAMES))
_BEFORE_LITERALS = frozenset((TokenType.INTERVAL, TokenType.DATE, TokenType.TIMESTAMP))


def stands_alone(source: SqlTokens, token_range: TokenRange, *, atomic: bool) -> bool:
    """Return whether the tokens around a range bind less tightly than those in it."""
    first, last = token_range
    tokens = source.tokens
    before = tokens[first - 1].token_type
    if before == TokenType.DOT:
        return False
    if atomic:
        return last - first > 1 or before not in _BEFORE_LITERALS
    loosest = _loosest(source, token_range)
    left = _LEVELS.get(before, _TIGHT)
    right = _LEVELS.get(tokens[last].token_type, _TIGHT) if last < len(tokens) else -1
    # A sign belongs only to the first word.
    signed = before in _SIGNS and tokens[first - 2].token_type in _LEVELS
    return not signed and left < loosest and right <= loosest


def _loosest(source: SqlTokens, token_range: TokenRange) -> int:
    """Return the lowest precedence in a range of tokens; -2 if one is unknown."""
    index, last = token_range
    tokens, match = source.tokens, source.match
    if tokens[index].token_type == TokenType.CASE and tokens[last - 1].token_type == TokenType.END:
        kinds = [token.token_type for token in tokens[index:last]]
        return _TIGHT if kinds.count(TokenType.CASE) == kinds.count(TokenType.END) == 1 else -2
    loosest = _TIGHT
    while index < last:
        kind = tokens[index].token_type
        if match[index] >= 0:
            index = match[index]
        elif kind == TokenType.DCOLON:
            index += 1  # the type after it
        elif kind not in _NEUTRAL and tokens[index - 1].token_type != TokenType.DOT:
            loosest = min(loosest, _LEVELS.get(kind, -2))
        index += 1
    return loosest
