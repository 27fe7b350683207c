"""Ways down from a node, through filters and projections, to relations that have other readers."""

from __future__ import annotations

from typing import NamedTuple

from millstream.core.expressions import Expression, Piece
from millstream.plan.nodes import Filter, Node, Project
from millstream.plan.optimizer.context import RuleContext
from millstream.plan.optimizer.cost import HEAVY, expression_cost
from millstream.plan.optimizer.moves import try_substitute

Pieces = tuple[Piece, ...]

_LONGEST = 64
"""The maximum length of a way, so that a long chain is not walked again for each of its nodes."""


class WayCondition(NamedTuple):
    """A condition of a filter on the way."""

    filter: Filter
    written: Expression
    low: Expression | None
    """The condition over the columns of the base; None if it must not be applied a second time."""


class ComputingStep(NamedTuple):
    """The step that computes a wanted column."""

    project: Project
    name: str


class BasePath(NamedTuple):
    base: Node
    """Its end, which several nodes read."""
    steps: tuple[Filter | Project, ...]
    """The steps above the base, from the top down."""
    expressions: tuple[Expression, ...]
    """The wanted expressions, over the columns of the base."""
    computed_by: tuple[ComputingStep | None, ...]
    """For each of those, the last step that computes it as a column."""
    filter_conditions: tuple[WayCondition, ...]

    @property
    def conditions(self) -> dict[Pieces, Expression]:
        return {
            condition.low.pieces: condition.low
            for condition in self.filter_conditions
            if condition.low is not None
        }

    @property
    def complete(self) -> bool:
        """Whether the conditions keep the same rows as the filters."""
        return all(condition.low is not None for condition in self.filter_conditions)


def base_paths(
    top: Node, expressions: tuple[Expression, ...], context: RuleContext, *, shared_top: bool = False
) -> list[BasePath]:
    """Return the ways to all bases that the same rows can be computed from, the nearest first.

    With `shared_top`, several nodes read the top, so costly steps are not passed: each would repeat them.
    """
    reachable: list[BasePath] = []
    longest = _to_last_shared(top, context)
    way = BasePath(top, (), expressions, (None,) * len(expressions), ())
    while len(way.steps) <= longest:
        if context.shared(way.base):
            reachable.append(way)
            shared_top = True
        further = _over(way, shared_top=shared_top)
        if further is None:
            break
        way = further
    return reachable


def _to_last_shared(node: Node, context: RuleContext) -> int:
    """Return the number of steps to the last node with other readers; -1 if there is none."""
    last = -1
    for steps in range(_LONGEST):
        if context.shared(node):
            last = steps
        if not isinstance(node, Filter | Project):
            break
        node = node.input
    return last


def _over(way: BasePath, *, shared_top: bool) -> BasePath | None:
    match way.base:
        case Filter() as step if all(condition.deterministic for condition in step.conditions):
            conditions = tuple(
                WayCondition(step, condition, condition if _cheap(condition) else None)
                for condition in step.conditions
            )
            return way._replace(
                base=step.input,
                steps=(*way.steps, step),
                filter_conditions=(*way.filter_conditions, *conditions),
            )
        case Project() as step if not step.keys:
            return _over_projection(way, step, shared_top=shared_top)
    return None


def _over_projection(way: BasePath, step: Project, *, shared_top: bool) -> BasePath | None:
    if not all(item.expression.deterministic for item in step.items):
        return None
    if shared_top and any(expression_cost(item.expression) >= HEAVY for item in step.items):
        return None
    expressions: list[Expression] = []
    computed_by: list[ComputingStep | None] = []
    for one, before in zip(way.expressions, way.computed_by, strict=True):
        low = try_substitute(one, step.definitions)
        if low is None or low.functions or low.reads:
            return None
        expressions.append(low)
        name = one.column
        computed_by.append(ComputingStep(step, name) if name is not None and low.column is None else before)
    conditions = tuple(
        condition._replace(low=_moved_down(condition.low, step.definitions))
        for condition in way.filter_conditions
    )
    return BasePath(step.input, (*way.steps, step), tuple(expressions), tuple(computed_by), conditions)


def _moved_down(condition: Expression | None, by: dict[str, Expression]) -> Expression | None:
    low = try_substitute(condition, by) if condition is not None else None
    return low if low is not None and _cheap(low) else None


def _cheap(condition: Expression) -> bool:
    """Return whether a condition can be applied twice, and to more rows."""
    return condition.movable and expression_cost(condition) < HEAVY
