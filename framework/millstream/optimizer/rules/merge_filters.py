"""Two filters become one.

filter a > 1 → filter a > 1 and b = 2
filter a > 1 and b = 2
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.expressions import Expression
from millstream.optimizer.context import Change, Context, Result
from millstream.optimizer.names import both
from millstream.plan.nodes import Filter, Node, Plan
from millstream.plan.walk import rewrite


def merge_filters(plan: Plan, context: Context) -> Result:
    changes: list[Change] = []
    shared: set[int] = set()

    def visit(node: Node, before: Node) -> Node:
        found = node
        if isinstance(node, Filter):
            found = _merged(node, context, taken=id(node.input) in shared)
            if found is not node:
                changes.append(Change("two filters are one", found.models))
        if context.shared(before):
            shared.add(id(found))
        return found

    if not any(isinstance(node, Filter) for node in context.order):
        return plan, ()
    return rewrite(plan, visit), tuple(changes)


def _merged(node: Filter, context: Context, *, taken: bool) -> Filter:
    lower = node.input
    if not isinstance(lower, Filter) or taken or not context.allows("merge_filters", node, lower):
        return node
    if _calls(node) != _calls(lower):
        return node  # Python functions see only what a filter of its own lets through
    conditions = _once((*lower.conditions, *node.conditions))
    return replace(node, input=lower.input, conditions=conditions, models=both(lower, node))


def _calls(node: Filter) -> bool:
    return any(condition.functions for condition in node.conditions)


def _once(conditions: tuple[Expression, ...]) -> tuple[Expression, ...]:
    found: list[Expression] = []
    seen: set[object] = set()
    for condition in conditions:
        if condition.deterministic and condition.pieces in seen:
            continue
        seen.add(condition.pieces)
        found.append(condition)
    return tuple(found)
