"""Aggregates in ORDER BY: Spark's analyzer looks for them below the SELECT list, and does not find all."""

from __future__ import annotations

from sqlglot import exp

from millstream.sql.expressions import Evaluator
from millstream.sql.grouping import has_aggregate, quiet_shape


def check_ordered_aggregate(evaluator: Evaluator, node: exp.Select, key: exp.Expr) -> None:
    """Report an aggregate in ORDER BY that Spark does not find, or over rows without groups."""
    if not has_aggregate(key):
        return
    findings, having = evaluator.findings, node.args.get("having")
    selected = [item.this if isinstance(item, exp.Alias) else item for item in node.expressions]
    if not (node.args.get("group") or having or any(map(has_aggregate, selected))):
        message, remedy = "ORDER BY has an aggregate, but the rows have no groups", "add GROUP BY"
        findings.report(key, "MS415", message, f"{remedy}, or order by a column")
        return
    hidden = next(filter(None, (_hiding_alias(node, column) for column in key.find_all(exp.Column))), "")
    reason = ""
    if any(item.find(exp.Window) for item in [*selected, *_parts(node.args.get("qualify"))]):
        reason = "next to a window function"
    elif hidden:
        reason = f"of '{hidden}', which is a column of the SELECT list here"
    elif having and _computes_more(evaluator, having.this, selected):
        reason = "after a HAVING with an aggregate that is not in the SELECT list"
    if reason:
        remedy = "name the aggregate in the SELECT list, and order by its name"
        findings.report(key, "MS415", f"ORDER BY can't compute an aggregate {reason}", remedy)


def _parts(node: exp.Expr | None) -> list[exp.Expr]:
    return [node] if node is not None else []


def _hiding_alias(node: exp.Select, column: exp.Column) -> str:
    """Return the name of a column if the SELECT list gives it to something else."""
    if column.table:
        return ""
    for item in node.expressions:
        if isinstance(item, exp.Alias) and item.alias.lower() == column.name.lower():
            is_itself = isinstance(item.this, exp.Column) and item.this.name.lower() == column.name.lower()
            return "" if is_itself else column.name
    return ""


def _computes_more(evaluator: Evaluator, condition: exp.Expr, selected: list[exp.Expr]) -> bool:
    """Return whether a condition has an aggregate that no column of the SELECT list has."""
    selected_calls = {
        quiet_shape(evaluator, call)
        for item in selected
        for call in item.find_all(exp.Anonymous)
        if has_aggregate(call)
    }
    calls = [call for call in condition.find_all(exp.Anonymous) if has_aggregate(call)]
    return any(quiet_shape(evaluator, call) not in selected_calls for call in calls)
