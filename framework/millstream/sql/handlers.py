"""The handlers of all kinds of expressions."""

from __future__ import annotations

from sqlglot import exp

from millstream.sql import (
    access,
    aggregates,
    call_clauses,
    calls,
    columns,
    conditions,
    keyword_calls,
    literals,
    operators,
    subqueries,
)
from millstream.sql.expressions import Expressions, Handler
from millstream.sql.findings import Findings
from millstream.sql.scope import Scope
from millstream.sql.value import Value


def expressions(findings: Findings, scope: Scope) -> Expressions:
    """Return an evaluator for the expressions of one SELECT."""
    return Expressions(findings, scope, HANDLERS)


def _inner(walk: Expressions, node: exp.Expr) -> Value:
    return walk.value(node.this)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Column: columns.column,
    exp.Identifier: columns.identifier,
    **literals.HANDLERS,
    **operators.HANDLERS,
    **conditions.HANDLERS,
    **access.HANDLERS,
    **aggregates.HANDLERS,
    **call_clauses.HANDLERS,
    **subqueries.HANDLERS,
    exp.Anonymous: calls.call,
    **keyword_calls.HANDLERS,
    **dict.fromkeys((exp.Paren, exp.Alias, exp.PropertyEQ), _inner),
}
