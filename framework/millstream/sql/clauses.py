"""Finds the clauses of a SELECT among its tokens, since the tree has no positions for them."""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct
from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql.words import CLOSING, OPENING

TokenRange = tuple[int, int]
"""A range of token indexes; the end is exclusive."""

_ENDS = frozenset((TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SEMICOLON))
_CLAUSES = {
    TokenType.FROM: "from",
    TokenType.WHERE: "where",
    TokenType.GROUP_BY: "group",
    TokenType.HAVING: "having",
    TokenType.QUALIFY: "qualify",
    TokenType.ORDER_BY: "order",
    TokenType.SORT_BY: "order",
    TokenType.CLUSTER_BY: "order",
    TokenType.DISTRIBUTE_BY: "order",
    TokenType.LIMIT: "order",
    TokenType.OFFSET: "order",
    TokenType.WINDOW: "window",
}
_JOINS = frozenset(
    (
        TokenType.JOIN, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.INNER, TokenType.CROSS,
        TokenType.SEMI, TokenType.ANTI, TokenType.NATURAL, TokenType.LATERAL, TokenType.COMMA,
    )
)  # fmt: skip
_AFTER_JOIN = frozenset((*_JOINS, TokenType.OUTER, TokenType.VIEW))
_NESTED = frozenset(("array", "map", "struct"))
_QUERIES = frozenset((TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.TABLE))
_NAMING = frozenset((TokenType.DOT, TokenType.ALIAS))
"""After these, every word is a name."""


class NotSplitError(Exception):
    """A query that Millstream analyzes, but can't split into its clauses."""


class SqlTokens(Struct):
    """The tokens of one query, with matching parentheses."""

    sql: str
    tokens: list[Token]
    starts: list[int]
    match: list[int]
    """For each opening parenthesis or bracket, the index of its closing one; otherwise -1."""

    def index_at(self, offset: int) -> int:
        """Return the index of the token that begins at an offset."""
        return bisect_left(self.starts, offset)

    def span(self, token_range: TokenRange) -> tuple[int, int]:
        first, last = token_range
        return (self.tokens[first].start, self.tokens[last - 1].end + 1) if last > first else (0, 0)


def index_tokens(sql: str, tokens: list[Token]) -> SqlTokens:
    match = [-1] * len(tokens)
    open_: list[int] = []
    for index, token in enumerate(tokens):
        if token.token_type in OPENING:
            open_.append(index)
        elif token.token_type in CLOSING and open_:
            match[open_.pop()] = index
    return SqlTokens(sql, tokens, [token.start for token in tokens], match)


def split_clauses(source: SqlTokens, select: int) -> dict[str, TokenRange]:
    """Return the clauses of the SELECT whose keyword is at this index; `items` is its list."""
    tokens, match = source.tokens, source.match
    token_ranges: dict[str, TokenRange] = {}
    name, start = "items", select + 1
    index = start
    while index < len(tokens):
        token = tokens[index]
        kind = token.token_type
        if match[index] >= 0:
            index = match[index] + 1
            continue
        if kind in CLOSING or (kind in _ENDS and tokens[index - 1].token_type != TokenType.STAR):
            break  # `* except (a, b)` continues
        if kind in _CLAUSES and _begins_clause(tokens, index):
            token_ranges[name] = (start, index)
            name, start = _CLAUSES[kind], index + 1
        index += 1
    token_ranges[name] = (start, index)
    token_ranges["all"] = (select, index)
    first, last = token_ranges["items"]
    while first < last and tokens[first].token_type in {TokenType.DISTINCT, TokenType.ALL, TokenType.HINT}:
        first += 1
    token_ranges["items"] = (first, last)
    return token_ranges


def _begins_clause(tokens: list[Token], index: int) -> bool:
    """Return whether a clause begins here, not a name (`window.end`) or `a is [not] distinct from b`."""
    before = tokens[index - 1].token_type
    if before in _NAMING:
        return False
    compared = before == TokenType.DISTINCT and tokens[index - 2].token_type in {TokenType.IS, TokenType.NOT}
    return not (compared and tokens[index].token_type == TokenType.FROM)


def by_commas(source: SqlTokens, token_range: TokenRange) -> list[TokenRange]:
    parts: list[TokenRange] = []
    first = index = token_range[0]
    angle = 0
    while index < token_range[1]:
        token = source.tokens[index]
        if source.match[index] >= 0:
            index = source.match[index] + 1
            continue
        if token.token_type == TokenType.LT and source.tokens[index - 1].text.lower() in _NESTED:
            angle += 1
        elif token.token_type == TokenType.GT and angle:
            angle -= 1
        elif token.token_type == TokenType.COMMA and not angle:
            parts.append((first, index))
            first = index + 1
        index += 1
    if first < token_range[1]:
        parts.append((first, token_range[1]))
    return parts


def split_conjuncts(source: SqlTokens, token_range: TokenRange) -> list[TokenRange]:
    """Split a condition into the parts that AND connects."""
    token_range = strip_parentheses(source, token_range)
    parts: list[TokenRange] = []
    first = index = token_range[0]
    cases = betweens = 0
    while index < token_range[1]:
        kind = source.tokens[index].token_type
        if source.match[index] >= 0:
            index = source.match[index] + 1
            continue
        if index > token_range[0] and source.tokens[index - 1].token_type == TokenType.DOT:
            pass
        elif kind == TokenType.CASE:
            cases += 1
        elif kind == TokenType.END and cases:
            cases -= 1
        elif not cases and kind == TokenType.OR:
            return [token_range]
        elif not cases and kind == TokenType.BETWEEN:
            betweens += 1
        elif not cases and kind == TokenType.AND and betweens:
            betweens -= 1
        elif not cases and kind == TokenType.AND:
            parts.append((first, index))
            first = index + 1
        index += 1
    if not parts:
        return [token_range]
    parts.append((first, token_range[1]))
    return [inner for part in parts for inner in split_conjuncts(source, part)]


def strip_parentheses(source: SqlTokens, token_range: TokenRange) -> TokenRange:
    """Remove parentheses around a whole range of tokens, unless they contain a query or a struct."""
    first, last = token_range
    while (
        last - first > 2
        and source.tokens[first].token_type == TokenType.L_PAREN
        and source.match[first] == last - 1
        and source.tokens[first + 1].token_type not in _QUERIES
        and len(by_commas(source, (first + 1, last - 1))) == 1
    ):
        first, last = first + 1, last - 1
    return first, last


class FromRelation(Struct):
    """One relation of a FROM clause."""

    token_range: TokenRange
    on: TokenRange | None = None


def split_relations(source: SqlTokens, token_range: TokenRange) -> list[FromRelation]:
    """Split a FROM clause into its relations, in written order."""
    tokens, match = source.tokens, source.match
    parts: list[FromRelation] = []
    start = index = token_range[0]
    stop = on = -1
    view = False

    def close(end: int) -> None:
        if end > start:
            relation_range = (start, end if stop < 0 else stop)
            parts.extend(_within(source, relation_range) or [FromRelation(relation_range)])
            if on >= 0:
                parts[-1].on = (on, end)

    while index < token_range[1]:
        kind = tokens[index].token_type
        if match[index] >= 0:
            index = match[index] + 1
        elif tokens[index - 1].token_type in _NAMING:
            index += 1
        elif kind in _JOINS and not (view and kind == TokenType.COMMA):
            close(index)
            while index < token_range[1] and tokens[index].token_type in _AFTER_JOIN:
                view = view or tokens[index].token_type == TokenType.VIEW
                index += 1
            start, stop, on = index, -1, -1
        else:
            if kind in {TokenType.ON, TokenType.USING} and stop < 0:
                stop = index
                on = index + 1 if kind == TokenType.ON else -1
            index += 1
    close(token_range[1])
    return parts


def _within(source: SqlTokens, token_range: TokenRange) -> list[FromRelation]:
    """Return the relations of joins in parentheses that have no alias."""
    first, last = token_range
    if source.match[first] != last - 1 or source.tokens[first].token_type != TokenType.L_PAREN:
        return []
    if source.tokens[first + 1].token_type in _QUERIES:
        return []
    inner = split_relations(source, (first + 1, last - 1))
    return inner if len(inner) > 1 else []


def call_range(source: SqlTokens, start: int) -> TokenRange:
    """Return a call from its name to its last parenthesis, with FILTER, WITHIN GROUP and IGNORE NULLS."""
    index = source.index_at(start)
    stop = source.match[index + 1] + 1
    while stop < len(source.tokens):
        word = source.tokens[stop].text.lower()
        following = source.tokens[stop + 1] if stop + 1 < len(source.tokens) else None
        if word in {"filter", "within group"} and following and following.token_type == TokenType.L_PAREN:
            stop = source.match[stop + 1] + 1
        elif word == "within" and following and following.text.lower() == "group":
            stop = source.match[stop + 2] + 1
        elif word in {"ignore nulls", "respect nulls"}:
            stop += 1
        elif word in {"ignore", "respect"} and following and following.text.lower() == "nulls":
            stop += 2
        else:
            break
    return index, stop
