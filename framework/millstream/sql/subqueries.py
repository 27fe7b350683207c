"""Queries inside expressions."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import UNKNOWN
from millstream.sql.expressions import Expressions, Handler
from millstream.sql.keywords import first_word
from millstream.sql.result import Result
from millstream.sql.scope import NOTHING, Bound, Inner, as_kind
from millstream.sql.value import Value


def scalar(walk: Expressions, node: exp.Expr) -> Value:
    result = check_subquery(walk, node, walk.findings.subquery(node, walk.scope))
    if len(result.columns) != 1 and not result.open:
        message = f"a subquery in an expression must return one column, not {len(result.columns)}"
        walk.findings.report(node, "MS412", message, "select one of them")
    first = result.columns[0] if result.columns else Bound("", UNKNOWN, True, NOTHING)
    return Value(first.type, True, as_kind(first.sources, "computed") | as_kind(result.rows, "filter"))


def check_subquery(walk: Expressions, node: exp.Expr, result: Result, left: exp.Expr | None = None) -> Result:
    """Record a subquery, which must read rows at rest, and report one that Spark does not allow here.

    `left` is what IN compares with it.
    """
    start, stop = first_word(walk.findings.source, node)
    walk.findings.add_form("subquery", (start, stop), result.reads)
    if not any(subquery.start == start for subquery in walk.scope.subqueries):
        compared = left.expressions if isinstance(left, exp.Tuple) else [left] if left is not None else []
        walk.scope.subqueries.append(Inner(result.body, compared, start, stop))
    if walk.lambdas:
        message = "a subquery is not allowed in a lambda"
        remedy = "join the relation that it reads, and use its column in the lambda"
        walk.findings.report(node, "MS431", message, remedy)
    return result


HANDLERS: dict[type[exp.Expr], Handler] = dict.fromkeys((exp.Subquery, exp.Select, exp.Union), scalar)
