"""Two filters become one.

filter a > 1 → filter a > 1 and b = 2
filter a > 1 and b = 2
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.core.expressions import Expression
from millstream.plan.nodes import Filter, is_good
from millstream.plan.optimizer.context import PlanChange
from millstream.plan.optimizer.local import Rewrite, RewriteContext, local_rule
from millstream.plan.optimizer.names import models_of


@local_rule(Filter, lambda node, context: isinstance(node.input, Filter) and not context.shared(node.input))
def merge_filters(node: Filter, site: RewriteContext) -> Rewrite | None:
    lower = node.input
    if not isinstance(lower, Filter) or not site.allows(lower):
        return None
    if _calls(node) != _calls(lower):
        return None  # Python functions only see the rows that a separate filter keeps
    conditions = _once((*lower.conditions, *node.conditions))
    merged = replace(node, input=lower.input, conditions=conditions, models=models_of(lower, node))
    hidden = any(all(map(is_good, part.conditions)) for part in (lower, node))
    return Rewrite(merged, () if hidden else (PlanChange("two filters are one", merged.models),))


def _calls(node: Filter) -> bool:
    return any(condition.functions for condition in node.conditions)


def _once(conditions: tuple[Expression, ...]) -> tuple[Expression, ...]:
    unique: list[Expression] = []
    seen: set[object] = set()
    for condition in conditions:
        if condition.deterministic and condition.pieces in seen:
            continue
        seen.add(condition.pieces)
        unique.append(condition)
    return tuple(unique)
