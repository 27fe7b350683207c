"""FILTER, WITHIN GROUP and IGNORE NULLS after a call, and which functions have them."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import DOUBLE, INTERVAL
from millstream.sql.conditions import evaluate_condition
from millstream.sql.expressions import Evaluator, Handler
from millstream.sql.grouping import has_aggregate
from millstream.sql.names import call_of, function_name
from millstream.sql.ordering import check_ordered
from millstream.sql.scope import as_kind
from millstream.sql.signatures import load_signatures
from millstream.sql.value import Value, computed_value

_IGNORES_NULLS = frozenset((
    "first", "first_value", "last", "last_value", "any_value", "nth_value", "lag", "lead", "array_agg",
    "collect_list", "collect_set",
))  # fmt: skip
_WITHIN_GROUP = frozenset(("listagg", "string_agg", "mode", "percentile_cont", "percentile_disc"))
NEEDS_WITHIN_GROUP = frozenset(("percentile_cont", "percentile_disc"))


def evaluate_filter(evaluator: Evaluator, node: exp.Filter) -> Value:
    value = evaluator.value(node.this)
    name = function_name(call_of(node.this))
    signature = load_signatures().get(name)
    aggregates = signature is None or (signature.aggregate and not name.startswith("grouping"))
    if not isinstance(call_of(node.this), exp.Anonymous) or not aggregates:
        what = f"{name}()" if name else "what is not an aggregate"
        report_clause(evaluator, node.this, f"{what} can't have FILTER", "write CASE WHEN … or WHERE")
    keys, evaluator.keys = evaluator.keys, None
    inside, evaluator.inside_aggregate = evaluator.inside_aggregate, True
    inner = node.expression.this
    with evaluator.without_aliases("FILTER"):
        predicate = evaluate_condition(evaluator, inner)
    if has_aggregate(inner) or inner.find(exp.Window) is not None:
        remedy = "compute it in a subquery, and use its column"
        report_clause(evaluator, inner, "FILTER can't contain an aggregate or a window function", remedy)
    evaluator.keys, evaluator.inside_aggregate = keys, inside
    sources = value.sources | as_kind(predicate.sources, "filter")
    return Value(value.type, value.nullable, sources, None, aggregate=True)


def nulls_ignored(evaluator: Evaluator, node: exp.IgnoreNulls | exp.RespectNulls) -> Value:
    name = function_name(call_of(node.this))
    if name in load_signatures() and name not in _IGNORES_NULLS and isinstance(node, exp.IgnoreNulls):
        remedy = f"remove IGNORE NULLS, or add: filter (where {name}'s argument is not null)"
        report_clause(evaluator, node.this, f"{name}() can't have IGNORE NULLS", remedy)
    return evaluator.value(node.this)


def within_group(evaluator: Evaluator, node: exp.WithinGroup) -> Value:
    name = function_name(node.this)
    keys, evaluator.keys = evaluator.keys, None
    parts = node.expression.expressions
    inside, evaluator.inside_aggregate = evaluator.inside_aggregate, True
    with evaluator.without_aliases(f"{name}()"):
        ordered = evaluator.values([part.this for part in parts])
    evaluator.keys, evaluator.inside_aggregate = keys, inside
    for part, value in zip(parts, ordered, strict=True):
        check_ordered(evaluator, part, value.type, "ORDER BY")
    value = evaluator.value(node.this)
    _check_within_group(evaluator, node, name)
    type_ = value.type
    if name in NEEDS_WITHIN_GROUP:
        type_ = INTERVAL if ordered and ordered[0].type == INTERVAL else DOUBLE
    elif name == "mode" and ordered:
        type_ = ordered[0].type
    result = computed_value(type_, [value, *ordered], nullable=True, aggregate=True)
    if isinstance(node.this, exp.Anonymous):
        evaluator.findings.marks.aggregate(node.this, evaluator.scope, name, result)
    return result


def _check_within_group(evaluator: Evaluator, node: exp.WithinGroup, name: str) -> None:
    call = node.this
    if name in load_signatures() and name not in _WITHIN_GROUP:
        remedy = (
            "sort the array: sort_array(…)" if "array" in name or "list" in name else "remove WITHIN GROUP"
        )
        report_clause(evaluator, call, f"{name}() can't have WITHIN GROUP", remedy)
    elif name in {*NEEDS_WITHIN_GROUP, "mode"} and len(node.expression.expressions) != 1:
        report_clause(evaluator, call, f"{name}() orders by one value", "write one value after ORDER BY")
    elif name == "mode" and call.expressions:
        report_clause(evaluator, call, "mode() has either an argument or WITHIN GROUP", "remove one of them")
    elif name in {"listagg", "string_agg"} and any(isinstance(a, exp.Distinct) for a in call.expressions):
        (distinct,) = [a for a in call.expressions if isinstance(a, exp.Distinct)]
        if [part.this for part in node.expression.expressions] != distinct.expressions[:1]:
            remedy = "order by the same value that DISTINCT has"
            report_clause(evaluator, call, f"{name}(distinct …) orders by its own values only", remedy)


def report_clause(evaluator: Evaluator, node: exp.Expr, message: str, remedy: str) -> None:
    evaluator.findings.report(node, "MS440", message, remedy)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Filter: evaluate_filter,
    exp.WithinGroup: within_group,
    exp.IgnoreNulls: nulls_ignored,
    exp.RespectNulls: nulls_ignored,
}
