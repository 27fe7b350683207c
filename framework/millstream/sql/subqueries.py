"""Queries that stand inside an expression."""

from __future__ import annotations

from sqlglot import exp

from millstream.sql.expressions import Expressions, Handler
from millstream.sql.keywords import first_word
from millstream.sql.result import Result
from millstream.sql.scope import NOTHING, Bound, as_kind
from millstream.sql.value import Value
from millstream.types import UNKNOWN


def scalar(walk: Expressions, node: exp.Expr) -> Value:
    result = of_rest(walk, node, walk.findings.subquery(node, walk.scope))
    if len(result.columns) != 1 and not result.open:
        walk.findings.problem(
            node,
            "MS412",
            f"a subquery in an expression gives one column, not {len(result.columns)}",
            "select one of them",
        )
    first = result.columns[0] if result.columns else Bound("", UNKNOWN, True, NOTHING)
    return Value(first.type, True, as_kind(first.sources, "computed") | as_kind(result.rows, "filter"))


def of_rest(walk: Expressions, node: exp.Expr, result: Result) -> Result:
    """Note a subquery, which has to read what is at rest, and stand where Spark takes one."""
    walk.findings.form("subquery", first_word(walk.findings.source, node), result.reads)
    if walk.lambdas:
        message = "a subquery can't stand within a lambda"
        walk.findings.problem(node, "MS431", message, "join what it reads, and use the column in the lambda")
    return result


HANDLERS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys((exp.Subquery, exp.Select, exp.Union), scalar),
}
