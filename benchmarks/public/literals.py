"""Rows that a query writes as VALUES or `range(…)` become tables, so that they can change."""

from __future__ import annotations

from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot.tokens import Token, TokenType

from public.cases import Case, Query, Table, replaced, tokens_of
from public.feldera import tuples

MOST_ROWS = 200


def with_tables(spark: SparkSession, case: Case) -> Case:
    tables, queries = list(case.tables), []
    for query in case.queries:
        sql = query.sql
        while (literal := _next(spark, sql, len(tables))) is not None:
            table, start, end, alias = literal
            tables.append(table)
            sql = replaced(sql, [(start, end, f"{table.name} {alias}")])
        queries.append(Query(query.name, sql))
    return replace(case, tables=tuple(tables), queries=tuple(queries))


def _next(spark: SparkSession, sql: str, number: int) -> tuple[Table, int, int, str] | None:
    tokens = tokens_of(sql)
    for index, token in enumerate(tokens):
        before = tokens[index - 1].token_type if index else None
        after = tokens[index + 1].token_type if index + 1 < len(tokens) else None
        if token.token_type is TokenType.VALUES and after is TokenType.L_PAREN:
            end = _past(tokens, index + 1)
            first = index
            if (
                before is TokenType.L_PAREN
                and end < len(tokens)
                and tokens[end].token_type is TokenType.R_PAREN
            ):
                first, end = index - 1, end + 1
                before = tokens[first - 1].token_type if first else None
            written = sql[token.end + 1 : tokens[_past(tokens, index + 1) - 1].end + 1]
            rows = tuple(tuples(written))
        elif token.text.lower() == "range" and after is TokenType.L_PAREN:
            first, end = index, _closing(tokens, index + 1) + 1
            rows = None
        else:
            continue
        if before not in {TokenType.FROM, TokenType.JOIN, TokenType.COMMA}:
            continue
        alias, end = _alias(tokens, end)
        text = sql[tokens[first].start : tokens[end - 1].end + 1]
        try:
            frame = spark.sql(f"select * from {text}")
            if rows is None:
                rows = tuple((str(row[0]),) for row in frame.limit(MOST_ROWS + 1).collect())
        except PySparkException:
            continue
        if len(rows) > MOST_ROWS or len(set(frame.columns)) != len(frame.columns):
            continue
        types = [(name.lower(), kind.replace("void", "string")) for name, kind in frame.dtypes]
        return (
            Table(f"literal_{number}", tuple(types), rows),
            tokens[first].start,
            tokens[end - 1].end + 1,
            alias,
        )
    return None


def _closing(tokens: list[Token], index: int) -> int:
    depth = 0
    for position in range(index, len(tokens)):
        kind = tokens[position].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if not depth:
            return position
    return len(tokens) - 1


def _past(tokens: list[Token], index: int) -> int:
    """Return the position after `(…), (…)`."""
    while True:
        index = _closing(tokens, index) + 1
        following = [t.token_type for t in tokens[index : index + 2]]
        if following != [TokenType.COMMA, TokenType.L_PAREN]:
            return index
        index += 1


def _alias(tokens: list[Token], index: int) -> tuple[str, int]:
    """Return the name that follows a relation, and the position after it and its columns."""
    position = index
    if position < len(tokens) and tokens[position].token_type is TokenType.ALIAS:
        position += 1
    if position >= len(tokens) or tokens[position].token_type not in {TokenType.VAR, TokenType.IDENTIFIER}:
        return "", index
    name = f"as {tokens[position].text}"
    position += 1
    if position < len(tokens) and tokens[position].token_type is TokenType.L_PAREN:
        position = _closing(tokens, position) + 1
    return name, position
