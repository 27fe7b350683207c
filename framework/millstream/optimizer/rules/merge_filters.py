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
    nodes = context.changed("merge_filters")
    if not any(isinstance(node, Filter) and isinstance(node.input, Filter) for node in nodes):
        return plan, ()
    changes: list[Change] = []

    def visit(node: Node, before: Node) -> Node:
        # Who reads a filter stays the same here: so what is below was shared if it is.
        if not isinstance(node, Filter) or not isinstance(before, Filter) or context.shared(before.input):
            return node
        found = _merged(node, context)
        if found is not node:
            changes.append(Change("two filters are one", found.models))
        return found

    return rewrite(plan, visit, nodes), tuple(changes)


def _merged(node: Filter, context: Context) -> Filter:
    lower = node.input
    if not isinstance(lower, Filter) or not context.allows("merge_filters", node, lower):
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
