"""Finds the window functions and the subqueries of a SELECT among its tokens."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millstream.core.expressions import Expression, Ref
from millstream.core.types import UNKNOWN
from millstream.sql.clauses import (
    NotSplitError,
    SqlTokens,
    TokenRange,
    by_commas,
    call_range,
    strip_parentheses,
)
from millstream.sql.query import Subquery, Window
from millstream.sql.reading import ExpressionReader
from millstream.sql.scope import Scope
from millstream.sql.token_roles import TokenRoles, start_of

_FRAMES = frozenset(("rows", "range"))


def windows_of(
    source: SqlTokens, roles: TokenRoles, scope: Scope, reader: ExpressionReader
) -> Iterator[Window]:
    """Yield the calls with OVER; `reader` reads what they are partitioned by."""
    for start, windowed in roles.windows.items():
        if windowed.scope is not scope:
            continue
        token_ranges = _partition(source, call_range(source, start)[1])
        if len(token_ranges) != len(windowed.partition):
            raise NotSplitError("a PARTITION BY that could not be split")
        values = zip(token_ranges, windowed.partition, strict=True)
        yield Window(
            tuple(
                reader.expression(token_range, value.type, nullable=value.nullable)
                for token_range, value in values
            ),
            start,
            source.tokens[source.index_at(start)].end + 1,
            windowed.order,
        )


def _partition(source: SqlTokens, over: int) -> list[TokenRange]:
    """Return what follows PARTITION BY in the parentheses after OVER."""
    tokens, match = source.tokens, source.match
    if tokens[over].token_type != TokenType.OVER or tokens[over + 1].token_type != TokenType.L_PAREN:
        raise NotSplitError("a window that is defined elsewhere")
    first, last = over + 2, match[over + 1]
    if first == last or tokens[first].token_type != TokenType.PARTITION_BY:
        return []
    stop = first = first + 1
    while stop < last:
        token = tokens[stop]
        if token.token_type == TokenType.ORDER_BY or token.text.lower() in _FRAMES:
            break
        stop = match[stop] + 1 if match[stop] >= 0 else stop + 1
    return [strip_parentheses(source, part) for part in by_commas(source, (first, stop))]


def subqueries_of(source: SqlTokens, scope: Scope, reader: ExpressionReader) -> Iterator[Subquery]:
    for subquery in scope.subqueries:
        left = [_column(source, scope, node, reader) for node in subquery.left]
        columns = tuple(column for column in left if column is not None)
        body = subquery.body if len(columns) == len(left) else None
        yield Subquery(body, columns, subquery.start, subquery.stop)


def _column(source: SqlTokens, scope: Scope, node: exp.Expr, reader: ExpressionReader) -> Expression | None:
    """Return an expression that is just a column of FROM."""
    start = start_of(node) if isinstance(node, exp.Column) else None
    reference = None if start is None else reader.reference(source.index_at(start))
    if reference is None or len(reference.refs) != 1:
        return None
    ((relation, name),) = reference.refs
    last = node.parts[-1].meta.get("end", -1) + 1 if isinstance(node, exp.Column) else -1
    if not relation or last != reference.stop:
        return None
    columns = (
        column for candidate in scope.relations if candidate.key == relation for column in candidate.columns
    )
    nullable = next((column.nullable for column in columns if column.name == name), True)
    return Expression((Ref(name, relation),), UNKNOWN, nullable, atomic=True)
