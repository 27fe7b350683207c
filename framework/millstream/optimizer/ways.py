"""Ways down from a node, over filters and projections, to the relations that others read, too."""

from __future__ import annotations

from typing import NamedTuple

from millstream.expressions import Expression, Piece
from millstream.optimizer.context import Context
from millstream.optimizer.cost import HEAVY, cost
from millstream.optimizer.moves import substituted
from millstream.plan.nodes import Filter, Node, Project

Pieces = tuple[Piece, ...]

_LONGEST = 64
"""Steps of a way: a plan of one endless chain must not be walked again for each of its nodes."""


class Asked(NamedTuple):
    """A condition of a filter on the way."""

    filter: Filter
    written: Expression
    low: Expression | None
    """As it reads on the columns of the way's end; nothing, where it must not be asked a second time."""


class Made(NamedTuple):
    """Where on the way a wanted column is calculated."""

    project: Project
    name: str


class Way(NamedTuple):
    base: Node
    """Where it ends; several nodes read it."""
    steps: tuple[Filter | Project, ...]
    """What lies between, from the top down."""
    wanted: tuple[Expression, ...]
    """What was wanted at the top, on the columns of the base."""
    made: tuple[Made | None, ...]
    """By each of those: the last step from which on it is a column."""
    asked: tuple[Asked, ...]

    @property
    def conditions(self) -> dict[Pieces, Expression]:
        return {each.low.pieces: each.low for each in self.asked if each.low is not None}

    @property
    def complete(self) -> bool:
        """Tell whether the conditions keep no more rows than the filters do."""
        return all(each.low is not None for each in self.asked)


def ways(top: Node, wanted: tuple[Expression, ...], context: Context, *, fan: bool = False) -> list[Way]:
    """Return the ways to all bases that the same rows can be made of, the nearest first.

    `fan` tells that several read the top: nothing costly is then passed, which they would each do again.
    """
    found: list[Way] = []
    longest = _to_last_shared(top, context)
    way = Way(top, (), wanted, (None,) * len(wanted), ())
    while len(way.steps) <= longest:
        if context.shared(way.base):
            found.append(way)
            fan = True
        further = _over(way, fan=fan)
        if further is None:
            break
        way = further
    return found


def _to_last_shared(node: Node, context: Context) -> int:
    """Return how many steps it is to the last node that others read, too; -1 if there is none."""
    found = -1
    for steps in range(_LONGEST):
        if context.shared(node):
            found = steps
        if not isinstance(node, Filter | Project):
            break
        node = node.input
    return found


def _over(way: Way, *, fan: bool) -> Way | None:
    match way.base:
        case Filter() as step if all(c.deterministic for c in step.conditions):
            asked = tuple(Asked(step, c, c if _cheap(c) else None) for c in step.conditions)
            return way._replace(base=step.input, steps=(*way.steps, step), asked=(*way.asked, *asked))
        case Project() as step if not step.keys:
            return _over_projection(way, step, fan=fan)
    return None


def _over_projection(way: Way, step: Project, *, fan: bool) -> Way | None:
    if not all(item.expression.deterministic for item in step.items):
        return None
    if fan and any(cost(item.expression) >= HEAVY for item in step.items):
        return None
    by = {item.name: item.expression for item in step.items}
    wanted: list[Expression] = []
    made: list[Made | None] = []
    for one, before in zip(way.wanted, way.made, strict=True):
        low = substituted(one, by)
        if low is None or low.functions or low.reads:
            return None
        wanted.append(low)
        name = one.column
        made.append(Made(step, name) if name is not None and low.column is None else before)
    asked = tuple(each._replace(low=_asked_below(each.low, by)) for each in way.asked)
    return Way(step.input, (*way.steps, step), tuple(wanted), tuple(made), asked)


def _asked_below(condition: Expression | None, by: dict[str, Expression]) -> Expression | None:
    low = substituted(condition, by) if condition is not None else None
    return low if low is not None and _cheap(low) else None


def _cheap(condition: Expression) -> bool:
    """Tell whether a condition may be asked twice, and of more rows than now."""
    return condition.movable and cost(condition) < HEAVY
