"""Queries inside expressions."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import UNKNOWN
from millstream.sql.expressions import Evaluator, Handler
from millstream.sql.keywords import first_word
from millstream.sql.result import BoundQuery
from millstream.sql.scope import NOTHING, BoundColumn, InnerQuery, as_kind
from millstream.sql.value import Value


def evaluate_scalar(evaluator: Evaluator, node: exp.Expr) -> Value:
    result = check_subquery(evaluator, node, evaluator.findings.subquery(node, evaluator.scope))
    if len(result.columns) != 1 and not result.open:
        message = f"a subquery in an expression must return one column, not {len(result.columns)}"
        evaluator.findings.report(node, "MS412", message, "select one of them")
    first = result.columns[0] if result.columns else BoundColumn("", UNKNOWN, True, NOTHING)
    return Value(first.type, True, as_kind(first.sources, "computed") | as_kind(result.rows, "filter"))


def check_subquery(
    evaluator: Evaluator, node: exp.Expr, result: BoundQuery, left: exp.Expr | None = None
) -> BoundQuery:
    """Record a subquery, which must read rows at rest, and report one that Spark does not allow here.

    `left` is what IN compares with it.
    """
    start, stop = first_word(evaluator.findings.source, node)
    evaluator.findings.add_form("subquery", (start, stop), result.reads)
    if not any(subquery.start == start for subquery in evaluator.scope.subqueries):
        compared = left.expressions if isinstance(left, exp.Tuple) else [left] if left is not None else []
        evaluator.scope.subqueries.append(InnerQuery(result.body, compared, start, stop))
    if evaluator.lambdas:
        message = "a subquery is not allowed in a lambda"
        remedy = "join the relation that it reads, and use its column in the lambda"
        evaluator.findings.report(node, "MS431", message, remedy)
    return result


HANDLERS: dict[type[exp.Expr], Handler] = dict.fromkeys(
    (exp.Subquery, exp.Select, exp.Union), evaluate_scalar
)
