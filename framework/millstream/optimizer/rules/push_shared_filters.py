"""Rows that all readers of a shared relation drop are dropped below it.

repartition by user, read by: filter type = 'view' and value > 1; filter type = 'buy' and value > 1
filter value > 1 and (type = 'view' or type = 'buy') → repartition by user, read by: filter type = 'view'; …
"""

from __future__ import annotations

from typing import NamedTuple

from millstream.expressions import Expression, Piece, any_of
from millstream.optimizer.context import Change, Context, Result
from millstream.optimizer.cost import HEAVY, cost
from millstream.optimizer.moves import Moves, below
from millstream.optimizer.names import models_of
from millstream.plan.nodes import Filter, Node, Plan, Project, Union, Watermark
from millstream.plan.walk import rewrite
from millstream.types import BOOLEAN

_NAME = "push_shared_filters"
_Key = tuple[Piece, ...]
_Known = dict[tuple[int, str], tuple[Node, Moves]]
"""By the `id` of a node and a condition's content: the condition in terms of the input."""


class _Found(NamedTuple):
    common: dict[_Key, Expression]
    """The conditions that all readers of a relation have in common."""
    either: Expression | None
    """The OR of their other conditions."""
    models: tuple[str, ...]


def push_shared_filters(plan: Plan, context: Context) -> Result:
    found: dict[int, _Found] = {}
    nodes, known = context.changed(_NAME), context.found(_NAME)
    for node in nodes:
        if context.shared(node) and (what := _kept_by_all(node, context, known)) is not None:
            found[id(node)] = what
    if not found:
        return plan, ()
    changes = tuple(
        Change(f"{condition} is applied once, before the shared part", what.models)
        for what in found.values()
        for condition in (*what.common.values(), *((what.either,) if what.either else ()))
    )

    def visit(node: Node, before: Node) -> Node:
        if isinstance(node, Filter) and isinstance(before, Filter) and id(before.input) in found:
            node = _without(node, found[id(before.input)].common)
        if (what := found.get(id(before))) is None:
            return node
        conditions = (*what.common.values(), *((what.either,) if what.either else ()))
        return Filter(input=node, conditions=conditions, models=what.models)

    return rewrite(plan, visit, nodes), changes


def _kept_by_all(node: Node, context: Context, known: _Known) -> _Found | None:
    readers = [each for each in context.consumers[id(node)] if isinstance(each, Filter)]
    if len(readers) != len(context.consumers[id(node)]) or not context.allows(_NAME, node, *readers):
        return None
    conditions = [_movable_conditions(reader) for reader in readers]
    common = {key: e for key, e in conditions[0].items() if all(key in other for other in conditions)}
    either = _either(node, [{k: e for k, e in each.items() if k not in common} for each in conditions], known)
    if not common and either is None:
        return None
    return _Found(common, either, models_of(*readers))


def _movable_conditions(reader: Filter) -> dict[_Key, Expression]:
    """Return the conditions that can also be applied elsewhere: cheap ones that never fail."""
    found: dict[_Key, Expression] = {}
    for condition in reader.conditions:
        if not condition.deterministic:
            break
        if not condition.raises and cost(condition) < HEAVY:
            found[condition.pieces] = condition
    return found


def _either(node: Node, alternatives: list[dict[_Key, Expression]], known: _Known) -> Expression | None:
    """Return the OR of the conditions in a canonical order, so that equal ones are recognized."""
    low = [{k: e for k, e in each.items() if below(node, e)} for each in alternatives]
    if not all(low):
        return None
    least = [each for each in low if not any(other.keys() < each.keys() for other in low)]
    sides = {
        tuple(sorted(e.text for e in each.values())): sorted(each.values(), key=lambda e: e.text)
        for each in least
    }
    either = any_of((sides[key] for key in sorted(sides)), BOOLEAN)
    return either if _pays(node, either, known) else None


def _pays(node: Node, condition: Expression, known: _Known) -> bool:
    """Return whether it moves below a costly step, and is not yet applied further below."""
    pending = [(node, condition)]
    saves, moves_everywhere = False, True
    while pending:
        at, current = pending.pop()
        if isinstance(at, Filter):
            if all(_plain(each) != _plain(current) for each in at.conditions):
                pending.append((at.input, current))
            continue
        key = (id(at), current.content)
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


def _without(node: Filter, common: dict[_Key, Expression]) -> Node:
    left = tuple(each for each in node.conditions if each.pieces not in common)
    if len(left) == len(node.conditions):
        return node
    if not left:
        return node.input
    return Filter(input=node.input, conditions=left, label=node.label, models=node.models)
