"""Aggregates, and calls with OVER."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import UNKNOWN, Type
from millstream.sql.arguments import Argument, check_arguments
from millstream.sql.call_clauses import NEEDS_WITHIN_GROUP
from millstream.sql.can_fail import call_raises
from millstream.sql.constant_texts import check_call
from millstream.sql.expressions import Expressions, Handler
from millstream.sql.nullability import argument_types
from millstream.sql.over import breaks_ties, check_over, definition
from millstream.sql.results import result_type
from millstream.sql.scope import as_kind
from millstream.sql.signatures import Signature
from millstream.sql.structs import star_columns
from millstream.sql.value import Value, computed, influences

_ALL_VALUES = frozenset(("mode", "percentile_cont", "percentile_disc"))


def aggregate(walk: Expressions, node: exp.Anonymous, signature: Signature) -> Value:
    """Evaluate a call of an aggregate."""
    name = signature.name
    over = id(node) in walk.window_calls
    if walk.no_aggregates and not over:
        message = f"{name}() is not allowed in {walk.no_aggregates}"
        remedy = (
            "filter aggregates with HAVING"
            if walk.no_aggregates == "WHERE"
            else "compute it in a subquery, and use its column"
        )
        walk.findings.report(node, "MS415", message, remedy)
    inner = [
        part for a in node.expressions for part in (a.expressions if isinstance(a, exp.Distinct) else [a])
    ]
    with_star = any(isinstance(part, exp.Star) for part in inner)
    if name in NEEDS_WITHIN_GROUP and not isinstance(node.parent, exp.WithinGroup):
        remedy = f"write {name}(0.5) within group (order by …)"
        walk.findings.report(node, "MS440", f"{name}() needs WITHIN GROUP", remedy)
    pairs = _plain(walk, node) if over else _arguments(walk, node, starred=name != "count")
    values = [value for _, value in pairs]
    if with_star and name != "count" and (over or len(values) > (signature.most or len(values))):
        walk.findings.report(node, "MS406", f"{name}(*) is not supported", "name a column")
    if name in _ALL_VALUES and any(isinstance(argument, exp.Distinct) for argument in node.expressions):
        message = f"{name}() takes no DISTINCT: it counts how often a value occurs"
        walk.findings.report(node, "MS415", message, f"write {name}(…) without DISTINCT")
    types: list[Type] = argument_types(signature, values) or [UNKNOWN]
    within = name == "mode" and isinstance(node.parent, exp.WithinGroup)
    if not (with_star or within) and not check_arguments(walk, node, signature, pairs):
        return computed(UNKNOWN, values, nullable=True, aggregate=not over)
    type_ = result_type(signature.result, name, types, [value.literal for value in values] or [None])
    result = computed(type_, values, nullable=signature.nullable != "never", aggregate=not over)
    if not over:
        walk.findings.marks.aggregate(node, walk.scope, name, result)
    check_call(walk.findings, signature, values, type_)
    if call_raises(signature, values, type_):
        walk.findings.marks.raises(node)
    return result


def _arguments(walk: Expressions, node: exp.Anonymous, *, starred: bool) -> list[Argument]:
    """Evaluate the arguments of an aggregate, where columns need not be grouped."""
    keys, walk.keys = walk.keys, None
    allowed, walk.no_aggregates = walk.no_aggregates, "another aggregate"
    inside, walk.inside_aggregate = walk.inside_aggregate, True
    with walk.without_aliases("an aggregate"):
        values = _evaluated(walk, node, starred=starred)
    walk.keys, walk.no_aggregates, walk.inside_aggregate = keys, allowed, inside
    return values


def _evaluated(walk: Expressions, node: exp.Anonymous, *, starred: bool) -> list[Argument]:
    values: list[Argument] = []
    for argument in node.expressions:
        for inner in argument.expressions if isinstance(argument, exp.Distinct) else [argument]:
            if isinstance(argument, exp.Star) and not starred:
                continue  # `count(*)` counts rows, not columns
            if (star := star_columns(walk, inner, named=False)) is None:
                values.append((inner, walk.value(inner)))
            elif starred:
                values += [(inner, value) for _, value in star]
    return values


def _plain(walk: Expressions, node: exp.Anonymous) -> list[Argument]:
    arguments = [a.expressions if isinstance(a, exp.Distinct) else [a] for a in node.expressions]
    return [
        (argument, walk.value(argument))
        for some in arguments
        for argument in some
        if not isinstance(argument, exp.Star)
    ]


def windowed(walk: Expressions, node: exp.Window) -> Value:
    """Evaluate a call before OVER, which does not group its SELECT; a nested aggregate does."""
    window = definition(walk, node)
    with walk.without_aliases("OVER"):
        value = _over(walk, node.this)
        partition = walk.values(window.partition)
        order = [walk.value(part.this) for part in window.order]
        check_over(walk, node, window, partition, order)
    sources = value.sources | as_kind(influences(partition), "group") | as_kind(influences(order), "order")
    walk.findings.mark_opaque(node, "a window function: a stream has no end to order by", at_rest=False)
    ordered = (
        [*window.partition, *(part.this for part in window.order)] if breaks_ties(node, window) else None
    )
    walk.findings.marks.windowed(node, walk.scope, partition, ordered)
    walk.findings.add_form("window function", node.this, walk.scope.reads)
    return Value(value.type, value.nullable, sources)


def _over(walk: Expressions, node: exp.Expr) -> Value:
    call = node
    while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.Filter | exp.WithinGroup):
        call = call.this
    if not isinstance(call, exp.Anonymous):
        return walk.value(node)
    walk.window_calls.add(id(call))
    value = walk.value(node)
    walk.window_calls.discard(id(call))
    value.aggregate = False
    return value


HANDLERS: dict[type[exp.Expr], Handler] = {exp.Window: windowed}
