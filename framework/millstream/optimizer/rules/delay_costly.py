"""Cheap conditions are evaluated first; Python functions see only the remaining rows.

filter score(payload) > 10 and payload rlike 'x+' and type = 'view'
filter type = 'view' and payload rlike 'x+' → filter score(payload) > 10
"""

from __future__ import annotations

from heapq import heapify, heappop
from itertools import accumulate
from typing import NamedTuple

from millstream.expressions import Expression
from millstream.optimizer.context import Change, Context, Hints
from millstream.optimizer.cost import cost
from millstream.optimizer.local import Applied, Site, local_rule
from millstream.plan.nodes import Filter, Node


class _Ranked(NamedTuple):
    condition: Expression
    rank: tuple[int, float]
    models: tuple[str, ...]


def _is_top(node: Filter, context: Context) -> bool:
    """Return whether it is the top of stacked filters, which are ordered together."""
    return context.shared(node) or not isinstance(context.consumers[id(node)][0], Filter)


@local_rule(Filter, _is_top)
def delay_costly(node: Filter, at: Site) -> Applied | None:
    found = _ordered(node, at)
    return None if found is node else Applied(found, (_change(node, at.hints),))


def _ordered(top: Filter, at: Site) -> Node:
    """Return a stack of filters in a better order, split below the first Python function."""
    stack = [top]
    while isinstance(below := stack[-1].input, Filter) and not at.shared(below):
        stack.append(below)
    stack.reverse()
    if len(stack) == len(top.conditions) == 1:
        return top
    if not at.allows(*stack):
        return top
    ranked = [
        _Ranked(each, (cost(each, at.hints.costs), _keeps(node, each, at.hints)), node.models)
        for node in stack
        for each in node.conditions
    ]
    best = in_best_order(ranked)
    first = next((i for i, each in enumerate(best) if each.condition.functions), len(best))
    parts = [part for part in (best[:first], best[first:]) if part]
    bounds = set(accumulate(len(node.conditions) for node in stack))
    if best == ranked and (len(parts) == 1 or first in bounds):
        return top
    found = stack[0].input
    # A label that the top filter does not get goes to the one below, since queries are named after it.
    lower = next((each.label for each in reversed(stack[:-1]) if each.label), "")
    for part in parts:
        models = tuple(dict.fromkeys(model for each in part for model in each.models))
        label = lower if part is not parts[-1] else top.label or (lower if len(parts) == 1 else "")
        conditions = tuple(each.condition for each in part)
        found = Filter(input=found, conditions=conditions, label=label, models=models)
    return found


def in_best_order(ranked: list[_Ranked]) -> list[_Ranked]:
    """Order conditions by rank; one that can fail stays behind all that were before it."""
    found: list[_Ranked] = []
    start = 0
    for index, each in enumerate(ranked):
        if not each.condition.deterministic:
            # No condition moves across it, since it would then apply to other rows.
            found += [*_segment(ranked[start:index]), each]
            start = index + 1
    return found + _segment(ranked[start:])


def _segment(given: list[_Ranked]) -> list[_Ranked]:
    """Take the cheapest each time; one that can fail only after all that were before it."""
    found: list[_Ranked] = []
    open_ = [(each.rank, i) for i, each in enumerate(given) if not each.condition.raises]
    heapify(open_)
    failing = [i for i, each in enumerate(given) if each.condition.raises]
    taken = [False] * len(given)
    first = at = 0
    while len(found) < len(given):
        while first < len(given) and taken[first]:
            first += 1
        next_ = failing[at] if at < len(failing) and failing[at] <= first else None
        if next_ is not None and (not open_ or (given[next_].rank, next_) < open_[0]):
            at += 1
        else:
            next_ = heappop(open_)[1]
        taken[next_] = True
        found.append(given[next_])
    return found


def _keeps(node: Filter, condition: Expression, hints: Hints) -> float:
    """Return the share of rows that a filter keeps, if known; for a shared filter, the average."""
    if len(node.models) == 1:
        return hints.keeps.get(node.models[0], 1.0)
    places = ((model, condition.start, condition.stop) for model in node.models)
    found = [hints.keeps_by_span[place] for place in places if place in hints.keeps_by_span]
    return sum(found) / len(found) if found else 1.0


def _change(node: Filter, hints: Hints) -> Change:
    costliest = max(node.conditions, key=lambda each: cost(each, hints.costs))
    return Change(f"{costliest.text} is applied to fewer rows", node.models)
