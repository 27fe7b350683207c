"""A published query with the tables that it reads, as values, and what its text needs to become a model."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.tokens import Token, TokenType

ONE = "one_row"
"""The table of a query that reads none; its row changes nothing."""
_ENDS = frozenset({
    TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.QUALIFY, TokenType.WINDOW,
    TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.LIMIT,
    TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.LATERAL, TokenType.SEMICOLON,
})  # fmt: skip
_OPEN = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE})
_CLOSE = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END})
_BEFORE_TABLES = frozenset({TokenType.FROM, TokenType.JOIN})


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    """The values as Spark's SQL writes them."""


@dataclass(frozen=True)
class Query:
    name: str
    sql: str
    """With names for all columns, and plain names of tables."""


@dataclass(frozen=True)
class Case:
    """Queries of one file. Each reads tables, and queries before it."""

    name: str
    tables: tuple[Table, ...]
    queries: tuple[Query, ...]
    expected: tuple[str, ...] | None = field(default=None, repr=False)
    """The rows published next to the last query: values separated by tabs."""


def tokens_of(sql: str) -> list[Token]:
    """Return no tokens of a text that has no end of a string."""
    try:
        return sqlglot.tokenize(sql, read="spark")
    except sqlglot.errors.TokenError:
        return []


def statements(sql: str) -> Iterator[str]:
    """Split SQL at its semicolons."""
    start = end = None
    tokens = tokens_of(sql)
    if not tokens:
        yield sql
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if start is not None:
                yield sql[start:end]
            start = None
        else:
            start = token.start if start is None else start
            end = token.end + 1
    if start is not None:
        yield sql[start:end]


def replaced(sql: str, changes: Collection[tuple[int, int, str]]) -> str:
    """Replace ranges of a text, which don't overlap."""
    for start, end, text in sorted(changes, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


def _levels(tokens: list[Token]) -> list[int]:
    """Return the depth of each token in parentheses and CASE."""
    depth, levels = 0, []
    for token in tokens:
        depth -= token.token_type in _CLOSE
        levels.append(depth)
        depth += token.token_type in _OPEN
    return levels


def named(sql: str) -> str:
    """Give the columns of the outermost SELECT names, and the query a table if it reads none."""
    tokens = tokens_of(sql)
    levels = _levels(tokens)
    first = next(
        (i for i, t in enumerate(tokens) if t.token_type is TokenType.SELECT and not levels[i]), None
    )
    if first is None:
        return sql
    start = first + 1
    while tokens[start].token_type in {TokenType.DISTINCT, TokenType.ALL, TokenType.HINT}:
        start += 1
    end = next(
        (i for i in range(start, len(tokens)) if not levels[i] and _ends(tokens, i)), len(tokens)
    )  # fmt: skip
    commas = [i for i in range(start, end) if tokens[i].token_type is TokenType.COMMA and not levels[i]]
    changes = []
    for number, (a, b) in enumerate(zip([start, *(i + 1 for i in commas)], [*commas, end], strict=True)):
        if a < b and _unnamed(sql[tokens[a].start : tokens[b - 1].end + 1]):
            changes.append((tokens[b - 1].end + 1, tokens[b - 1].end + 1, f" as c{number + 1}"))
    if end == len(tokens) or tokens[end].token_type is not TokenType.FROM:
        after = tokens[end - 1].end + 1
        changes = [c for c in changes if c[0] != after] + [
            (after, after, "".join(c[2] for c in changes if c[0] == after) + f" from {ONE}")
        ]
    return replaced(sql, changes)


def _ends(tokens: list[Token], index: int) -> bool:
    """Whether the items of a SELECT end here; `is distinct from` has a FROM, too."""
    token = tokens[index]
    distinct = tokens[index - 1].token_type is TokenType.DISTINCT
    return token.token_type in _ENDS and not (token.token_type is TokenType.FROM and distinct)


def _unnamed(item: str) -> bool:
    try:
        parsed = sqlglot.parse_one(f"select {item}", read="spark")
    except sqlglot.errors.SqlglotError:
        return False
    (selected, *_) = parsed.expressions
    has_name = isinstance(selected, exp.Star | exp.Aliases | exp.Alias | exp.Column | exp.Dot)
    return not (has_name or selected.is_star)


def without_order(sql: str) -> str:
    """Leave out an ORDER BY of the whole query that no LIMIT follows: tables have no order."""
    tokens = tokens_of(sql)
    levels = _levels(tokens)
    order = [
        i
        for i, t in enumerate(tokens)
        if not levels[i] and t.token_type in {TokenType.ORDER_BY, TokenType.SORT_BY}
    ]
    later = {TokenType.LIMIT, TokenType.OFFSET, TokenType.UNION, TokenType.WINDOW}
    if not order or any(
        tokens[i].token_type in later and not levels[i] for i in range(order[0], len(tokens))
    ):
        return sql
    return sql[: tokens[order[0]].start].rstrip()


def with_refs(sql: str, names: Collection[str]) -> str:
    """Write the tables of a query as `{{ ref('…') }}`."""
    return replaced(sql, [(t.start, t.end + 1, f"{{{{ ref('{name}') }}}}") for t, name in reads(sql, names)])


def reads(sql: str, names: Collection[str]) -> Iterator[tuple[Token, str]]:
    """Yield the tokens after FROM, JOIN and their commas that name tables."""
    tokens = tokens_of(sql)
    hidden = {
        tokens[i - 1].text.lower()
        for i, t in enumerate(tokens)
        if t.token_type is TokenType.ALIAS and i and tokens[i + 1].token_type is TokenType.L_PAREN
        and tokens[min(i + 2, len(tokens) - 1)].token_type in {TokenType.SELECT, TokenType.WITH, TokenType.VALUES}
    }  # fmt: skip
    clauses = [False]
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind in {TokenType.L_PAREN, TokenType.L_BRACKET}:
            clauses.append(clauses[-1] and tokens[index - 1].token_type in {*_BEFORE_TABLES, TokenType.COMMA})
            continue
        if kind in {TokenType.R_PAREN, TokenType.R_BRACKET}:
            clauses.pop()
            continue
        if kind in _BEFORE_TABLES:
            clauses[-1] = True
        elif kind in _ENDS or kind in {TokenType.SELECT, TokenType.ON, TokenType.USING}:
            clauses[-1] = False
        before = tokens[index - 1].token_type
        named_here = before in _BEFORE_TABLES or (
            clauses[-1] and before in {TokenType.COMMA, TokenType.L_PAREN}
        )
        name = token.text.lower()
        if named_here and name in names and name not in hidden:
            yield token, name
