"""The rows of published tables in three steps, and queries that read them as they are at a step."""

from __future__ import annotations

import re
from dataclasses import replace

from millstream.core.expressions import quote_name
from public.cases import Query, Table, reads, replaced


def base_key(table: Table) -> tuple[str, ...]:
    """Return the first columns that tell rows apart; all columns if none do."""
    names = [n for n, _ in table.columns]
    if names[-1] == f"{table.name}_n":
        return (names[-1],)
    for width in range(1, len(names)):
        if len({row[:width] for row in table.rows}) == len(table.rows):
            return tuple(names[:width])
    return tuple(names)


def with_key(table: Table, queries: tuple[Query, ...]) -> Table:
    """Add a column that tells equal rows apart, unless a query would show it."""
    stars = any("*" in q.sql.replace("(*)", "") or "natural" in q.sql.lower() for q in queries)
    if stars or len(set(table.rows)) == len(table.rows):
        return table
    rows = tuple((*row, str(number)) for number, row in enumerate(table.rows))
    return replace(table, columns=(*table.columns, (f"{table.name}_n", "int")), rows=rows)


def rows_of(table: Table, step: int) -> str:
    """Return SQL for the rows of a table at a step."""
    rows = list(dict.fromkeys(table.rows))
    width = len(base_key(table))
    if step == 0:
        rows = rows[: max(1, len(rows) // 2)] if len(rows) > 1 else []
        if len(rows) > 1:
            rows[0], rows[1] = rows[0][:width] + rows[1][width:], rows[1][:width] + rows[0][width:]
    elif step == 1 and len(rows) > 1:
        rows = rows[:-2] + rows[-1:]
    names = [n for n, _ in table.columns]
    casts = ", ".join(f"cast(col{i + 1} as {t}) as {quote_name(n)}" for i, (n, t) in enumerate(table.columns))
    if not rows:
        nulls = ", ".join(f"cast(null as {t}) as {quote_name(n)}" for n, t in table.columns)
        return f"select {nulls} where false"
    assert all(len(row) == len(names) for row in rows)
    return f"select {casts} from values " + ", ".join(f"({', '.join(row)})" for row in rows)


def stepped(sql: str, names: set[str], step: int) -> str:
    """Let a query read the tables as they are at a step."""
    changes = []
    for token, name in reads(sql, names):
        following = sql[token.end + 1 :].lstrip()
        changes.append(
            (token.start, token.end + 1, f"{name}__{step}{'' if _aliased(following) else f' as {name}'}")
        )
    return replaced(sql, changes)


_CLAUSES = frozenset(
    [
        "where",
        "group",
        "having",
        "order",
        "limit",
        "join",
        "left",
        "right",
        "inner",
        "full",
        "cross",
        "natural",
        "on",
        "using",
        "union",
        "except",
        "intersect",
        "minus",
        "lateral",
        "qualify",
        "window",
        "pivot",
        "unpivot",
        "tablesample",
        "sort",
        "cluster",
        "distribute",
        "semi",
        "anti",
        "offset",
    ]
)


def _aliased(following: str) -> bool:
    word = re.match(r"[`\w]+", following)
    return bool(word) and word[0].lower() not in _CLAUSES
