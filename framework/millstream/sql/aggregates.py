"""Aggregates, and calls with OVER."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import UNKNOWN, Type
from millstream.sql.arguments import Argument, check_arguments
from millstream.sql.call_clauses import NEEDS_WITHIN_GROUP
from millstream.sql.can_fail import call_raises
from millstream.sql.constant_texts import check_call
from millstream.sql.expressions import Evaluator, Handler
from millstream.sql.names import call_of
from millstream.sql.nullability import argument_types
from millstream.sql.result_types import result_type
from millstream.sql.scope import as_kind
from millstream.sql.signatures import FunctionSignature
from millstream.sql.structs import star_columns
from millstream.sql.value import Value, computed_value, merge_lineage
from millstream.sql.window_calls import breaks_ties, check_over, window_definition

_ALL_VALUES = frozenset(("mode", "percentile_cont", "percentile_disc"))


def evaluate_aggregate(evaluator: Evaluator, node: exp.Anonymous, signature: FunctionSignature) -> Value:
    """Evaluate a call of an aggregate."""
    name = signature.name
    over = id(node) in evaluator.window_calls
    if evaluator.no_aggregates and not over:
        message = f"{name}() is not allowed in {evaluator.no_aggregates}"
        remedy = (
            "filter aggregates with HAVING"
            if evaluator.no_aggregates == "WHERE"
            else "compute it in a subquery, and use its column"
        )
        evaluator.findings.report(node, "MS415", message, remedy)
    inner = [
        part for a in node.expressions for part in (a.expressions if isinstance(a, exp.Distinct) else [a])
    ]
    with_star = any(isinstance(part, exp.Star) for part in inner)
    if name in NEEDS_WITHIN_GROUP and not isinstance(node.parent, exp.WithinGroup):
        remedy = f"write {name}(0.5) within group (order by …)"
        evaluator.findings.report(node, "MS440", f"{name}() needs WITHIN GROUP", remedy)
    pairs = _plain(evaluator, node) if over else _arguments(evaluator, node, starred=name != "count")
    values = [value for _, value in pairs]
    if with_star and name != "count" and (over or len(values) > (signature.most or len(values))):
        evaluator.findings.report(node, "MS406", f"{name}(*) is not supported", "name a column")
    if name in _ALL_VALUES and any(isinstance(argument, exp.Distinct) for argument in node.expressions):
        message = f"{name}() takes no DISTINCT: it counts how often a value occurs"
        evaluator.findings.report(node, "MS415", message, f"write {name}(…) without DISTINCT")
    types: list[Type] = argument_types(signature, values) or [UNKNOWN]
    within = name == "mode" and isinstance(node.parent, exp.WithinGroup)
    if not (with_star or within) and not check_arguments(evaluator, node, signature, pairs):
        return computed_value(UNKNOWN, values, nullable=True, aggregate=not over)
    type_ = result_type(signature.result, name, types, [value.literal for value in values] or [None])
    result = computed_value(type_, values, nullable=signature.nullable != "never", aggregate=not over)
    if not over:
        evaluator.findings.marks.aggregate(node, evaluator.scope, name, result)
    check_call(evaluator.findings, signature, values, type_)
    if call_raises(signature, values, type_):
        evaluator.findings.marks.raises(node)
    return result


def _arguments(evaluator: Evaluator, node: exp.Anonymous, *, starred: bool) -> list[Argument]:
    """Evaluate the arguments of an aggregate, where columns need not be grouped."""
    keys, evaluator.keys = evaluator.keys, None
    allowed, evaluator.no_aggregates = evaluator.no_aggregates, "another aggregate"
    inside, evaluator.inside_aggregate = evaluator.inside_aggregate, True
    with evaluator.without_aliases("an aggregate"):
        values = _evaluated(evaluator, node, starred=starred)
    evaluator.keys, evaluator.no_aggregates, evaluator.inside_aggregate = keys, allowed, inside
    return values


def _evaluated(evaluator: Evaluator, node: exp.Anonymous, *, starred: bool) -> list[Argument]:
    values: list[Argument] = []
    for argument in node.expressions:
        for inner in argument.expressions if isinstance(argument, exp.Distinct) else [argument]:
            if isinstance(argument, exp.Star) and not starred:
                continue  # `count(*)` counts rows, not columns
            if (star := star_columns(evaluator, inner, named=False)) is None:
                values.append((inner, evaluator.value(inner)))
            elif starred:
                values += [(inner, value) for _, value in star]
    return values


def _plain(evaluator: Evaluator, node: exp.Anonymous) -> list[Argument]:
    arguments = [a.expressions if isinstance(a, exp.Distinct) else [a] for a in node.expressions]
    return [
        (argument, evaluator.value(argument))
        for some in arguments
        for argument in some
        if not isinstance(argument, exp.Star)
    ]


def evaluate_over(evaluator: Evaluator, node: exp.Window) -> Value:
    """Evaluate a call before OVER, which does not group its SELECT; a nested aggregate does."""
    window = window_definition(evaluator, node)
    with evaluator.without_aliases("OVER"):
        value = _over(evaluator, node.this)
        partition = evaluator.values(window.partition)
        order = [evaluator.value(part.this) for part in window.order]
        check_over(evaluator, node, window, partition, order)
    sources = (
        value.sources | as_kind(merge_lineage(partition), "group") | as_kind(merge_lineage(order), "order")
    )
    evaluator.findings.mark_opaque(node, "a window function: a stream has no end to order by", at_rest=False)
    ordered = (
        [*window.partition, *(part.this for part in window.order)] if breaks_ties(node, window) else None
    )
    evaluator.findings.marks.windowed(node, evaluator.scope, partition, ordered)
    evaluator.findings.add_form("window function", node.this, evaluator.scope.reads)
    return Value(value.type, value.nullable, sources)


def _over(evaluator: Evaluator, node: exp.Expr) -> Value:
    call = call_of(node)
    if not isinstance(call, exp.Anonymous):
        return evaluator.value(node)
    evaluator.window_calls.add(id(call))
    value = evaluator.value(node)
    evaluator.window_calls.discard(id(call))
    value.aggregate = False
    return value


HANDLERS: dict[type[exp.Expr], Handler] = {exp.Window: evaluate_over}
