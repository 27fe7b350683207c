"""Rows that all readers of a shared relation drop are dropped below it.

repartition by user, read by: filter type = 'view' and value > 1; filter type = 'buy' and value > 1
filter value > 1 and (type = 'view' or type = 'buy') → repartition by user, read by: filter type = 'view'; …
"""

from __future__ import annotations

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Filter, Node, Plan, Project, Union, Watermark
from millstream.plan.optimizer.context import PlanChange, Result, RuleContext
from millstream.plan.optimizer.cost import HEAVY, expression_cost
from millstream.plan.optimizer.moves import Moves, move_below
from millstream.plan.optimizer.names import models_of
from millstream.plan.optimizer.paths import Pieces
from millstream.plan.optimizer.shared_input import SharedConditions, add_filter, either_of
from millstream.plan.walk import rewrite_plan

_NAME = "push_shared_filters"
_CachedMoves = dict[tuple[int, str], tuple[Node, Moves]]
"""By the `id` of a node and a condition's content: the condition in terms of the input."""


def push_shared_filters(plan: Plan, context: RuleContext) -> Result:
    filters: dict[int, tuple[SharedConditions, tuple[NodeId, ...]]] = {}
    nodes, cache = context.changed(_NAME), context.findings(_NAME)
    for node in nodes:
        if context.shared(node) and (conditions := _kept_by_all(node, context, cache)) is not None:
            filters[id(node)] = conditions, models_of(*context.consumers[id(node)])
    if not filters:
        return plan, ()
    changes = tuple(
        PlanChange(f"{condition} is applied once, before the shared part", models)
        for conditions, models in filters.values()
        for condition in conditions.expressions
    )

    def visit(node: Node, before: Node) -> Node:
        if isinstance(node, Filter) and isinstance(before, Filter) and id(before.input) in filters:
            node = _without(node, filters[id(before.input)][0].common)
        return add_filter(node, *filters[id(before)]) if id(before) in filters else node

    return rewrite_plan(plan, visit, nodes), changes


def _kept_by_all(node: Node, context: RuleContext, cache: _CachedMoves) -> SharedConditions | None:
    readers = [reader for reader in context.consumers[id(node)] if isinstance(reader, Filter)]
    if len(readers) != len(context.consumers[id(node)]) or not context.allows(_NAME, node, *readers):
        return None
    conditions = [_movable_conditions(reader) for reader in readers]
    common = {
        key: expression
        for key, expression in conditions[0].items()
        if all(key in other for other in conditions)
    }
    either = _either(
        node,
        [{k: expression for k, expression in movable.items() if k not in common} for movable in conditions],
        cache,
    )
    if not common and either is None:
        return None
    return SharedConditions(common, either)


def _movable_conditions(reader: Filter) -> dict[Pieces, Expression]:
    """Return the conditions that can also be applied elsewhere: cheap ones that never fail."""
    movable: dict[Pieces, Expression] = {}
    for condition in reader.conditions:
        if not condition.deterministic:
            break
        if not condition.raises and expression_cost(condition) < HEAVY:
            movable[condition.pieces] = condition
    return movable


def _either(
    node: Node, alternatives: list[dict[Pieces, Expression]], cache: _CachedMoves
) -> Expression | None:
    low = [
        {k: expression for k, expression in alternative.items() if move_below(node, expression)}
        for alternative in alternatives
    ]
    if not all(low):
        return None
    either = either_of(low)
    return either if _pays(node, either, cache) else None


def _pays(node: Node, condition: Expression, cache: _CachedMoves) -> bool:
    """Return whether it moves below a costly step, and is not yet applied further below."""
    pending, visited = [(node, condition)], set()
    saves, moves_everywhere = False, True
    while pending:
        lower, current = pending.pop()
        key = (id(lower), current.content)
        if key in visited:
            continue  # by another way: a union may read one node many times
        visited.add(key)
        if isinstance(lower, Filter):
            if all(_plain(existing) != _plain(current) for existing in lower.conditions):
                pending.append((lower.input, current))
            continue
        _, moves = cache.get(key) or cache.setdefault(key, (lower, move_below(lower, current)))
        moves_everywhere = moves_everywhere and bool(moves)
        saves = saves or (bool(moves) and _is_costly(lower))
        if saves and not moves_everywhere:
            return True
        pending += [(lower.inputs[move.input], move.condition) for move in moves]
    return False


def _plain(condition: Expression) -> str:
    """Return its text without parentheses, whose number depends on how it got here."""
    return condition.text.replace("(", "").replace(")", "")


def _is_costly(node: Node) -> bool:
    match node:
        case Project():
            return any(expression_cost(expression) >= HEAVY for expression in node.calculated.values())
        case Watermark() | Union():
            return False
    return True


def _without(node: Filter, common: dict[Pieces, Expression]) -> Node:
    left = tuple(condition for condition in node.conditions if condition.pieces not in common)
    if len(left) == len(node.conditions):
        return node
    if not left:
        return node.input
    return Filter(input=node.input, conditions=left, label=node.label, models=node.models)
