"""Replaces the columns of an expression by the expressions that compute them."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.core.expressions import Expression, replace_columns
from millstream.sql.trees import window_calls

_MOST_PIECES = 1000
"""Added by one replacement: an expression that doubles with each of many models must not fill the memory."""


def can_substitute(expression: Expression, by: Mapping[str, Expression]) -> bool:
    """Return whether the columns of an expression can be replaced by the expressions in `by`."""
    added = 0
    for ref in expression.refs:
        replacement = by.get(ref.column)
        if replacement is None:
            continue
        added += len(replacement.pieces) - 1
        if added > _MOST_PIECES:
            return False
        if ref.fixed and (replacement.column is None or replacement.column != ref.column):
            return False
        if window_calls(replacement):
            return False
        if ref.in_lambda and (replacement.reads or replacement.functions):
            return False  # Spark supports neither subqueries nor Python in a lambda
        if expression.variables and (
            replacement.variables or any(r.column in expression.variables for r in replacement.refs)
        ):
            # A column with the name of a lambda's variable would be read as the variable.
            return False
    return True


def substitute_columns(expression: Expression, by: Mapping[str, Expression]) -> Expression:
    """Replace the columns that are in `by`; check `can_substitute` first."""
    return replace_columns(expression, lambda ref: by.get(ref.column))
