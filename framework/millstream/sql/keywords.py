"""Where the word of a clause stands, found among the tokens: the tree keeps no places for them."""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millstream.sql.clauses import NotApartError, Source
from millstream.sql.parse import select_token
from millstream.sql.words import CLOSING, OPENING

Place = tuple[int, int]

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


def keyword_before(found: Source, query: exp.Expr) -> Place:
    """Return where the word stands that joins a query to one before it."""
    index = _first(query)
    while index > 0 and found.tokens[index].token_type not in _SETS:
        index -= 1
    return _place(found, index)


def keyword_after(found: Source, query: exp.Expr, clause: str) -> Place:
    """Return where the word of a clause of a query stands, or the query's first word."""
    first = _first(query)
    index = _next(found, first, (_ORDER[clause],))
    return _place(found, first if index is None else index)


def first_word(found: Source, query: exp.Expr) -> Place:
    return _place(found, _first(query))


def _next(found: Source, first: int, kinds: Container[TokenType]) -> int | None:
    """Return the next of some words that is not within parentheses opened after the first."""
    depth = 0
    for index in range(first, len(found.tokens)):
        kind = found.tokens[index].token_type
        depth += (kind in OPENING) - (kind in CLOSING)
        before = found.tokens[index - 1].token_type if index else None
        if depth <= 0 and kind in kinds and before not in {TokenType.DOT, TokenType.ALIAS}:
            return index
    return None


def _first(query: exp.Expr) -> int:
    """Return the index of a query's first word."""
    places = []
    for select in query.find_all(exp.Select):
        try:
            places.append(select_token(select))
        except NotApartError:
            continue
    return min(places, default=0)


def _place(found: Source, index: int) -> Place:
    token = found.tokens[index]
    return token.start, token.end + 1
