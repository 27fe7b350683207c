"""Cheap conditions are evaluated first; Python functions see only the remaining rows.

filter score(payload) > 10 and payload rlike 'x+' and type = 'view'
filter type = 'view' and payload rlike 'x+' → filter score(payload) > 10
"""

from __future__ import annotations

from heapq import heapify, heappop
from itertools import accumulate
from typing import NamedTuple

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Filter, Node
from millstream.plan.optimizer.context import PlanChange, PlanHints, RuleContext
from millstream.plan.optimizer.cost import expression_cost
from millstream.plan.optimizer.local import Rewrite, RewriteContext, local_rule


class _Ranked(NamedTuple):
    condition: Expression
    rank: tuple[int, float]
    models: tuple[NodeId, ...]


def _is_top(node: Filter, context: RuleContext) -> bool:
    """Return whether it is the top of stacked filters, which are ordered together."""
    return context.shared(node) or not isinstance(context.consumers[id(node)][0], Filter)


@local_rule(Filter, _is_top)
def delay_costly(node: Filter, site: RewriteContext) -> Rewrite | None:
    ordered = _ordered(node, site)
    return None if ordered is node else Rewrite(ordered, (_change(node, site.hints),))


def _ordered(top: Filter, site: RewriteContext) -> Node:
    """Return a stack of filters in a better order, split below the first Python function."""
    stack = [top]
    while isinstance(input_node := stack[-1].input, Filter) and not site.shared(input_node):
        stack.append(input_node)
    stack.reverse()
    if len(stack) == len(top.conditions) == 1:
        return top
    if not site.allows(*stack):
        return top
    ranked = [
        _Ranked(
            condition,
            (expression_cost(condition, site.hints.costs), _keeps(node, condition, site.hints)),
            node.models,
        )
        for node in stack
        for condition in node.conditions
    ]
    best = in_best_order(ranked)
    first = next((i for i, candidate in enumerate(best) if candidate.condition.functions), len(best))
    parts = [part for part in (best[:first], best[first:]) if part]
    bounds = set(accumulate(len(node.conditions) for node in stack))
    if best == ranked and (len(parts) == 1 or first in bounds):
        return top
    rebuilt = stack[0].input
    # A label that the top filter does not get goes to the one below, since queries are named after it.
    lower = next((node.label for node in reversed(stack[:-1]) if node.label), "")
    for part in parts:
        models = tuple(dict.fromkeys(model for candidate in part for model in candidate.models))
        label = lower if part is not parts[-1] else top.label or (lower if len(parts) == 1 else "")
        conditions = tuple(candidate.condition for candidate in part)
        rebuilt = Filter(input=rebuilt, conditions=conditions, label=label, models=models)
    return rebuilt


def in_best_order(ranked: list[_Ranked]) -> list[_Ranked]:
    """Order conditions by rank; one that can fail stays behind all that were before it."""
    ordered: list[_Ranked] = []
    start = 0
    for index, candidate in enumerate(ranked):
        if not candidate.condition.deterministic:
            # No condition moves across it, since it would then apply to other rows.
            ordered += [*_segment(ranked[start:index]), candidate]
            start = index + 1
    return ordered + _segment(ranked[start:])


def _segment(ranked: list[_Ranked]) -> list[_Ranked]:
    """Take the cheapest each time; one that can fail only after all that were before it."""
    ordered: list[_Ranked] = []
    open_ = [(candidate.rank, i) for i, candidate in enumerate(ranked) if not candidate.condition.raises]
    heapify(open_)
    failing = [i for i, candidate in enumerate(ranked) if candidate.condition.raises]
    taken = [False] * len(ranked)
    first = position = 0
    while len(ordered) < len(ranked):
        while first < len(ranked) and taken[first]:
            first += 1
        next_ = failing[position] if position < len(failing) and failing[position] <= first else None
        if next_ is not None and (not open_ or (ranked[next_].rank, next_) < open_[0]):
            position += 1
        else:
            next_ = heappop(open_)[1]
        taken[next_] = True
        ordered.append(ranked[next_])
    return ordered


def _keeps(node: Filter, condition: Expression, hints: PlanHints) -> float:
    """Return the share of rows that a filter keeps, if known; for a shared filter, the average."""
    if len(node.models) == 1:
        return hints.keeps.get(node.models[0], 1.0)
    spans = ((model, condition.start, condition.stop) for model in node.models)
    shares = [hints.keeps_by_span[span] for span in spans if span in hints.keeps_by_span]
    return sum(shares) / len(shares) if shares else 1.0


def _change(node: Filter, hints: PlanHints) -> PlanChange:
    costliest = max(node.conditions, key=lambda condition: expression_cost(condition, hints.costs))
    return PlanChange(f"{costliest.text} is applied to fewer rows", node.models)
