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
from millstream.sql.expressions import Evaluator, Handler
from millstream.sql.findings import Findings
from millstream.sql.scope import Scope
from millstream.sql.value import Value


def make_evaluator(findings: Findings, scope: Scope) -> Evaluator:
    """Return an evaluator for the expressions of one SELECT."""
    return Evaluator(findings, scope, HANDLERS)


def _inner(evaluator: Evaluator, node: exp.Expr) -> Value:
    return evaluator.value(node.this)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Column: columns.evaluate_column,
    exp.Identifier: columns.evaluate_identifier,
    **literals.HANDLERS,
    **operators.HANDLERS,
    **conditions.HANDLERS,
    **access.HANDLERS,
    **aggregates.HANDLERS,
    **call_clauses.HANDLERS,
    **subqueries.HANDLERS,
    exp.Anonymous: calls.evaluate_call,
    **keyword_calls.HANDLERS,
    **dict.fromkeys((exp.Paren, exp.Alias, exp.PropertyEQ), _inner),
}
