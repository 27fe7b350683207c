"""A Python function is called once per row, however often its result is read.

filter score(type) > 10 → project score(type) as score
project *, score(type) as score → filter score > 10 → project score
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from msgspec.structs import replace

from millstream.core.expressions import Expression
from millstream.plan.nodes import Filter, Item, Node, Project
from millstream.plan.optimizer.calls import SeparableCall, always_evaluated, separable_calls, with_column
from millstream.plan.optimizer.context import PlanChange, PlanHints
from millstream.plan.optimizer.local import Rewrite, RewriteContext, local_rule
from millstream.plan.optimizer.shared_input import unused_names


class _Twice(NamedTuple):
    call: SeparableCall
    result: Expression
    """An expression with just the call."""
    name: str


@local_rule(Project, lambda node, _: any(expression.functions for expression in node.expressions))
def call_once(node: Project, site: RewriteContext) -> Rewrite | None:
    changes: list[PlanChange] = []
    while (twice := _twice(node, site)) is not None:
        changes.append(PlanChange(f"{twice.call.function}() is called once for {twice.name}", node.models))
        node = _once(node, twice, site)
    return Rewrite(node, tuple(changes)) if changes else None


def _filter(node: Project, site: RewriteContext) -> Filter | None:
    input_node = node.input
    return input_node if isinstance(input_node, Filter) and not site.shared(input_node) else None


def _twice(node: Project, site: RewriteContext) -> _Twice | None:
    """Return a call that occurs more than once, inner ones first."""
    below = _filter(node, site)
    conditions = below.conditions if below else ()
    if below and not site.allows(below):
        return None
    expressions = [*conditions, *(item.expression for item in node.items)]
    if sum(len(expression.functions) for expression in expressions) < 2:
        return None
    occurrences = [(call, expression) for expression in expressions for call in separable_calls(expression)]
    count = Counter(call.pieces for call, _ in occurrences)
    for call, _ in sorted(occurrences, key=lambda pair: len(pair[0].inner)):
        using = [expression for other, expression in occurrences if other.pieces == call.pieces]
        if count[call.pieces] < 2 or not _runs_for_all(using, conditions):
            continue
        result = _result(call, node, site.hints)
        if result is not None:
            return _Twice(call, *result)
    return None


def _runs_for_all(using: list[Expression], conditions: tuple[Expression, ...]) -> bool:
    """Return whether a call can run for all rows, as in a column: it already does, or can't fail."""
    if using[0] in conditions:
        return always_evaluated(using[0]) or not using[0].raises
    return any(always_evaluated(expression) or not expression.raises for expression in using)


def _result(call: SeparableCall, node: Project, hints: PlanHints) -> tuple[Expression, str] | None:
    computed = next((item for item in node.items if item.expression.pieces == call.pieces), None)
    (name,) = unused_names([computed.name if computed else call.function], node.input.names)
    if computed:
        return computed.expression, name
    return_type = hints.returns.get(call.function)
    if return_type is None:
        return None
    return Expression(call.pieces, return_type, raises=True, functions=call.inner), name


def _once(node: Project, twice: _Twice, site: RewriteContext) -> Project:
    below = _filter(node, site)
    conditions = below.conditions if below else ()
    call_and_name = twice.call, twice.name
    reading = [
        i for i, condition in enumerate(conditions) if with_column(condition, *call_and_name) is not condition
    ]
    first = reading[0] if reading else len(conditions)
    source: Node = below.input if below and reading else node.input
    if below and 0 < first < len(conditions):
        source = Filter(input=source, conditions=conditions[:first], models=below.models)
    items = (*(column.item for column in source.columns), Item(twice.name, twice.result))
    source = Project(input=source, items=items, models=node.models)
    if below and reading:
        left = tuple(with_column(condition, *call_and_name) for condition in conditions[first:])
        source = Filter(input=source, conditions=left, models=below.models)
    items = tuple(Item(item.name, with_column(item.expression, *call_and_name)) for item in node.items)
    return replace(node, input=source, items=items)
