"""Rows that all readers of a shared relation drop are dropped below it.

repartition by user, read by: filter type = 'view' and value > 1; filter type = 'buy' and value > 1
filter value > 1 and (type = 'view' or type = 'buy') → repartition by user, read by: filter type = 'view'; …
"""

from __future__ import annotations

from millstream.expressions import Expression
from millstream.optimizer.context import Change, Context, Result
from millstream.optimizer.cost import HEAVY, cost
from millstream.optimizer.gather import SharedConditions, either_of, filtered
from millstream.optimizer.moves import Moves, below
from millstream.optimizer.names import models_of
from millstream.optimizer.ways import Pieces
from millstream.plan.nodes import Filter, Node, Plan, Project, Union, Watermark
from millstream.plan.walk import rewrite

_NAME = "push_shared_filters"
_Known = dict[tuple[int, str], tuple[Node, Moves]]
"""By the `id` of a node and a condition's content: the condition in terms of the input."""


def push_shared_filters(plan: Plan, context: Context) -> Result:
    found: dict[int, tuple[SharedConditions, tuple[str, ...]]] = {}
    nodes, known = context.changed(_NAME), context.found(_NAME)
    for node in nodes:
        if context.shared(node) and (kept := _kept_by_all(node, context, known)) is not None:
            found[id(node)] = kept, models_of(*context.consumers[id(node)])
    if not found:
        return plan, ()
    changes = tuple(
        Change(f"{condition} is applied once, before the shared part", models)
        for kept, models in found.values()
        for condition in kept.listed
    )

    def visit(node: Node, before: Node) -> Node:
        if isinstance(node, Filter) and isinstance(before, Filter) and id(before.input) in found:
            node = _without(node, found[id(before.input)][0].common)
        return filtered(node, *found[id(before)]) if id(before) in found else node

    return rewrite(plan, visit, nodes), changes


def _kept_by_all(node: Node, context: Context, known: _Known) -> SharedConditions | None:
    readers = [each for each in context.consumers[id(node)] if isinstance(each, Filter)]
    if len(readers) != len(context.consumers[id(node)]) or not context.allows(_NAME, node, *readers):
        return None
    conditions = [_movable_conditions(reader) for reader in readers]
    common = {key: e for key, e in conditions[0].items() if all(key in other for other in conditions)}
    either = _either(node, [{k: e for k, e in each.items() if k not in common} for each in conditions], known)
    if not common and either is None:
        return None
    return SharedConditions(common, either)


def _movable_conditions(reader: Filter) -> dict[Pieces, Expression]:
    """Return the conditions that can also be applied elsewhere: cheap ones that never fail."""
    found: dict[Pieces, Expression] = {}
    for condition in reader.conditions:
        if not condition.deterministic:
            break
        if not condition.raises and cost(condition) < HEAVY:
            found[condition.pieces] = condition
    return found


def _either(node: Node, alternatives: list[dict[Pieces, Expression]], known: _Known) -> Expression | None:
    low = [{k: e for k, e in each.items() if below(node, e)} for each in alternatives]
    if not all(low):
        return None
    either = either_of(low)
    return either if _pays(node, either, known) else None


def _pays(node: Node, condition: Expression, known: _Known) -> bool:
    """Return whether it moves below a costly step, and is not yet applied further below."""
    pending, visited = [(node, condition)], set()
    saves, moves_everywhere = False, True
    while pending:
        at, current = pending.pop()
        key = (id(at), current.content)
        if key in visited:
            continue  # by another way: a union may read one node many times
        visited.add(key)
        if isinstance(at, Filter):
            if all(_plain(each) != _plain(current) for each in at.conditions):
                pending.append((at.input, current))
            continue
        _, moves = known.get(key) or known.setdefault(key, (at, below(at, current)))
        moves_everywhere = moves_everywhere and bool(moves)
        saves = saves or (bool(moves) and _is_costly(at))
        if saves and not moves_everywhere:
            return True
        pending += [(at.inputs[move.input], move.condition) for move in moves]
    return False


def _plain(condition: Expression) -> str:
    """Return its text without parentheses, whose number depends on how it got here."""
    return condition.text.replace("(", "").replace(")", "")


def _is_costly(node: Node) -> bool:
    match node:
        case Project():
            return any(cost(each) >= HEAVY for each in node.calculated.values())
        case Watermark() | Union():
            return False
    return True


def _without(node: Filter, common: dict[Pieces, Expression]) -> Node:
    left = tuple(each for each in node.conditions if each.pieces not in common)
    if len(left) == len(node.conditions):
        return node
    if not left:
        return node.input
    return Filter(input=node.input, conditions=left, label=node.label, models=node.models)
