"""Moves a condition on a node's rows to the rows of its inputs, if the result stays the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from millstream.core.expressions import Expression
from millstream.plan.nodes import (
    Aggregate,
    Column,
    Dedupe,
    Expand,
    Join,
    JoinColumn,
    Lookup,
    Node,
    Project,
    Repartition,
    TemporalJoin,
    Union,
    Watermark,
)
from millstream.plan.optimizer.cost import HEAVY, expression_cost
from millstream.plan.traits import traits_of
from millstream.sql.substitution import can_substitute, substitute_columns


class MovedCondition(NamedTuple):
    input: int
    """The index of the input that it filters."""
    condition: Expression


Moves = tuple[MovedCondition, ...]
"""The inputs that a condition moves to, all of them; empty if it stays."""

STAYS: Moves = ()


def move_below(node: Node, condition: Expression) -> Moves:
    """Return the condition for the inputs of a node that keeps the same rows of the node.

    The result is cached on the node: both are immutable, and many queries apply the same condition.
    """
    cache: dict[int, tuple[Expression, Moves]] = node.__dict__.setdefault("moves", {})
    cached = cache.get(id(condition))
    if cached is None:
        # With the condition itself, so that no other one can get its `id`.
        cached = cache[id(condition)] = condition, _below(node, condition)
    return cached[1]


def _below(node: Node, condition: Expression) -> Moves:
    if not condition.deterministic:
        return STAYS
    match node:
        case Project():
            return _below_projection(node, condition)
        case Repartition():
            return (MovedCondition(0, condition),)
        case Watermark():
            # A watermark follows all rows of its relation. With a filter below, windows would close later,
            # and other rows would be late.
            return STAYS
        case Expand():
            generated = {column.name.lower() for column in node.generated}
            if not node.call.deterministic or not generated.isdisjoint(condition.folded):
                return STAYS
            # Without OUTER, it drops rows for which it generates none.
            return (MovedCondition(0, condition),) if node.outer or _anywhere(condition) else STAYS
        case Dedupe():
            keys = {key.lower() for key in node.keys}
            if not _anywhere(condition) or any(name.lower() not in keys for name in condition.columns):
                return STAYS
            return (MovedCondition(0, condition),)
        case Aggregate():
            return _below_aggregate(node, condition)
        case Union():
            return _below_union(node, condition)
        case Join() | Lookup():
            return _below_join(node, condition)
        case TemporalJoin():
            return _below_events(node, condition)
    return STAYS


def from_on(node: Join | Lookup) -> tuple[tuple[Expression, ...], Moves]:
    """Return the conditions that stay in ON, and those that can filter one side before the join."""
    sides = {
        "inner": ("left", "right"),
        "left": ("right",),
        "right": ("left",),
        "semi": ("left", "right"),
        "anti": ("right",),
    }.get(node.kind, ())
    if not sides or len(node.on) < 2 or traits_of(node.left).mode == "upsert":
        return node.on, STAYS
    of = {joined.name: joined for joined in node.joined}
    stay: list[Expression] = []
    moved: list[MovedCondition] = []
    for condition in node.on:
        condition_sides = {of[name].side for name in condition.columns if name in of}
        side = next(iter(condition_sides)) if len(condition_sides) == 1 else ""
        below = _on_side(node, side, condition, of) if side in sides and condition.movable else None
        if below is None:
            stay.append(condition)
        else:
            moved.append(MovedCondition(0 if side == "left" else 1, below))
    # A join without conditions is a different join.
    return (tuple(stay), tuple(moved)) if stay else (node.on, STAYS)


def _anywhere(condition: Expression) -> bool:
    """Return whether it can be applied to more rows: it never fails, and calls no Python."""
    return condition.movable and not condition.functions


def try_substitute(condition: Expression, by: Mapping[str, Expression]) -> Expression | None:
    """Return a condition over what its columns are made of, where that is possible."""
    if not condition.columns <= by.keys() or not can_substitute(condition, by):
        return None
    return substitute_columns(condition, by)


def _renamed(condition: Expression, to: Mapping[str, Column]) -> Expression | None:
    if not condition.variables and all(name == target.name for name, target in to.items()):
        return condition
    return try_substitute(condition, {name: column.expression for name, column in to.items()})


def _below_projection(node: Project, condition: Expression) -> Moves:
    if not node.deterministic:
        return STAYS
    definitions, calculated = node.definitions, node.calculated
    if not condition.columns <= definitions.keys():
        return STAYS
    # Its columns would be computed twice: Spark shares no subexpressions across a filter.
    if any(expression_cost(calculated[name]) >= HEAVY for name in condition.columns if name in calculated):
        return STAYS
    # A column with the name of a lambda's variable can't be replaced, not even by itself.
    by = definitions if condition.variables else calculated
    return (MovedCondition(0, substitute_columns(condition, by)),) if can_substitute(condition, by) else STAYS


def _below_aggregate(node: Aggregate, condition: Expression) -> Moves:
    """Move a condition on group keys; not on a window, since a row can be in several."""
    if not node.keys or not _anywhere(condition):
        return STAYS
    by = {key.name: key.expression for key in node.keys if key.expression.column is not None}
    moved_condition = try_substitute(condition, by)
    return STAYS if moved_condition is None else (MovedCondition(0, moved_condition),)


def _below_union(node: Union, condition: Expression) -> Moves:
    positions = [i for i, column in enumerate(node.columns) if column.name in condition.columns]
    if len(positions) != len(condition.columns):
        return STAYS
    moved: list[MovedCondition] = []
    for index, side in enumerate(node.sides):
        # A comparison with another type can have another meaning.
        if any(side.columns[i].type != node.columns[i].type for i in positions):
            return STAYS
        moved_condition = _renamed(condition, {node.columns[i].name: side.columns[i] for i in positions})
        if moved_condition is None:
            return STAYS
        moved.append(MovedCondition(index, moved_condition))
    return tuple(moved)


def _below_join(node: Join | Lookup, condition: Expression) -> Moves:
    """Move a condition only if unmatched rows stay unmatched, and none are added."""
    of = {joined.name: joined for joined in node.joined}
    sides = {of[name].side for name in condition.columns if name in of}
    if len(sides) > 1:
        return STAYS
    side = next(iter(sides), "right" if node.kind == "right" else "left")
    complete = {"left": ("left",), "right": ("right",), "full": (), "semi": ("left",), "anti": ("left",)}
    if side not in complete.get(node.kind, ("left", "right")):
        return STAYS
    if side == "right" and traits_of(node.left).mode == "upsert":
        return STAYS  # a changed row whose partner is filtered away must still be seen, to be deleted
    keeps_all = isinstance(node, Lookup) and node.kind == "left"
    if not keeps_all and not _anywhere(condition):
        return STAYS
    moved_condition = _on_side(node, side, condition, of)
    return (
        STAYS if moved_condition is None else (MovedCondition(0 if side == "left" else 1, moved_condition),)
    )


def _below_events(node: TemporalJoin, condition: Expression) -> Moves:
    """Move a condition on events; without some versions, others would be valid for longer."""
    of = {joined.name: joined for joined in node.joined}
    if not _anywhere(condition) or {of[name].side for name in condition.columns if name in of} != {"left"}:
        return STAYS
    moved_condition = _on_side(node, "left", condition, of)
    return STAYS if moved_condition is None else (MovedCondition(0, moved_condition),)


def _on_side(
    node: Join | Lookup | TemporalJoin, side: str, condition: Expression, of: Mapping[str, JoinColumn]
) -> Expression | None:
    names = {joined.source.lower() for joined in of.values() if joined.side == side}
    input_node = node.left if side == "left" else node.right
    to: dict[str, Column] = {}
    for name in condition.columns:
        joined = of.get(name)
        if joined is None or joined.source.lower() not in names:
            return None
        to[name] = input_node.column(joined.source)
    return _renamed(condition, to)
