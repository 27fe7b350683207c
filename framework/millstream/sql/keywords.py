"""Finds the keywords of clauses among the tokens, since the tree has no positions for them."""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millstream.sql.clauses import NotSplitError, SqlTokens
from millstream.sql.parse import select_token
from millstream.sql.words import CLOSING, OPENING

Span = tuple[int, int]

_SETS = frozenset((TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT))
_ORDER: dict[str, TokenType] = {
    "order": TokenType.ORDER_BY,
    "sort": TokenType.SORT_BY,
    "cluster": TokenType.CLUSTER_BY,
    "distribute": TokenType.DISTRIBUTE_BY,
    "limit": TokenType.LIMIT,
    "offset": TokenType.OFFSET,
    "group": TokenType.GROUP_BY,
    "distinct": TokenType.DISTINCT,
}


def keyword_before(source: SqlTokens, query: exp.Expr) -> Span:
    """Return the span of the set operator before a query."""
    index = _first(query)
    while index > 0 and source.tokens[index].token_type not in _SETS:
        index -= 1
    return _token_span(source, index)


def keyword_after(source: SqlTokens, query: exp.Expr, clause: str) -> Span:
    """Return the span of the keyword of a query's clause, or else of the query's first word."""
    first = _first(query)
    index = _next(source, first, (_ORDER[clause],))
    return _token_span(source, first if index is None else index)


def first_word(source: SqlTokens, query: exp.Expr) -> Span:
    return _token_span(source, _first(query))


def _next(source: SqlTokens, first: int, kinds: Container[TokenType]) -> int | None:
    """Return the index of the next of these tokens outside parentheses opened after the first."""
    depth = 0
    for index in range(first, len(source.tokens)):
        kind = source.tokens[index].token_type
        depth += (kind in OPENING) - (kind in CLOSING)
        before = source.tokens[index - 1].token_type if index else None
        if depth <= 0 and kind in kinds and before not in {TokenType.DOT, TokenType.ALIAS}:
            return index
    return None


def _first(query: exp.Expr) -> int:
    """Return the token index of a query's first word."""
    indexes = []
    for select in query.find_all(exp.Select):
        try:
            indexes.append(select_token(select))
        except NotSplitError:
            continue
    return min(indexes, default=0)


def _token_span(source: SqlTokens, index: int) -> Span:
    token = source.tokens[index]
    return token.start, token.end + 1
