"""Calls of Python functions on rows whose record is no longer known: each call is given the row's location.

    select share_at(named_struct('model', 'shares', 'user', cast(user as string)), total) as share from totals

Errors then name the model and the row's key. Within an aggregate, Spark doesn't guarantee that a function is
called once for each row and for no other rows. Such a call becomes a column of a SELECT below the aggregate:

    sum(share(value)) filter (where ok)
    sum(_share) filter (where ok) … share_at(if(ok, named_struct(…), null), value) as _share
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, join_pieces, sql_literal
from millstream.core.types import UNKNOWN
from millstream.plan.nodes import (
    Aggregate,
    Binary,
    Dedupe,
    Expand,
    Filter,
    Item,
    Measure,
    Node,
    Project,
    Repartition,
    Stateful,
    Watermark,
)
from millstream.plan.optimizer.calls import separable_calls, with_column, with_first
from millstream.queries.emit.draft import LOCATED
from millstream.queries.emit.fuse import unused_name

RowLocation = tuple[Piece, ...]


def locate_projection(node: Project) -> Project:
    if not any(item.expression.functions for item in node.items):
        return node
    location = _row_location(node)
    return replace(node, items=tuple(Item(i.name, _located(i.expression, location)) for i in node.items))


def locate_filter(node: Filter) -> Filter:
    if not any(condition.functions for condition in node.conditions):
        return node
    location = _row_location(node)
    return replace(node, conditions=tuple(_located(condition, location) for condition in node.conditions))


def locate_expand(node: Expand) -> Expand:
    return replace(node, call=_located(node.call, _row_location(node))) if node.call.functions else node


def calls_below(node: Aggregate) -> tuple[Project, Aggregate] | None:
    """Return a projection with the aggregate's calls, and the aggregate over it; None if it calls nothing."""
    if not any(part.functions for measure in node.measures for part in measure.expressions):
        return None
    call_items: dict[tuple[RowLocation, str], Item] = {}
    location = _row_location(node, tuple(key.expression.column for key in node.keys if key.expression.column))
    used = list(node.input.names)

    def lift(expression: Expression, where: Expression | None) -> Expression:
        row_condition = where if where is not None and not where.functions else None
        call_location = (
            location if row_condition is None else ("if(", *row_condition.pieces, ", ", *location, ", null)")
        )
        while remaining := separable_calls(expression):
            key = (remaining[0].pieces, row_condition.content if row_condition is not None else "")
            if key not in call_items:
                name = unused_name(f"_{remaining[0].function}", used)
                used.append(name)
                call = Expression(
                    remaining[0].pieces, UNKNOWN, raises=True, functions=remaining[0].inner, atomic=True
                )
                call_items[key] = Item(name, _located(call, call_location))
            expression = with_column(expression, remaining[0], call_items[key].name)
        return expression

    measures = tuple(_measure(measure, lift) for measure in node.measures)
    if not call_items:
        return None
    lifted = replace(node, measures=measures)
    read = {name for part in lifted.expressions for name in part.columns}
    items = (*(c.item for c in node.input.columns if c.name in read), *call_items.values())
    project = Project(input=node.input, items=items, models=node.models)
    return project, replace(lifted, input=project)


def nested_calls(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return the functions that stay within aggregates and join conditions: Spark may call them twice."""
    names: list[str] = []
    for node in nodes:
        match node:
            case Aggregate():
                lift = calls_below(node)
                measures = lift[1].measures if lift else node.measures
                names += (name for m in measures for part in m.expressions for name in part.functions)
            case Binary():
                names += (name for condition in node.on for name in condition.functions)
    return tuple(dict.fromkeys(names))


def _measure(measure: Measure, lift: Callable[[Expression, Expression | None], Expression]) -> Measure:
    if not any(part.functions for part in measure.expressions):
        return measure
    condition = None if measure.condition is None else lift(measure.condition, None)
    return replace(measure, call=lift(measure.call, measure.condition), condition=condition)


def _located(expression: Expression, location: RowLocation) -> Expression:
    # Calls within lambdas stay unchanged: Spark allows no others there.
    return (
        with_first(expression, LOCATED, location)
        if separable_calls(expression, anywhere=True)
        else expression
    )


def _row_location(
    node: Project | Filter | Expand | Aggregate, keys: tuple[str, ...] | None = None
) -> RowLocation:
    names = " and ".join(model.name for model in node.models)
    pieces: list[Piece] = [f"named_struct('model', {sql_literal(names)}"]
    for name in _keys(node.input) if keys is None else keys:
        pieces += [f", {sql_literal(name)}, cast(", Ref(name), " as string)"]
    return join_pieces((*pieces, ")"))


def _keys(node: Node) -> tuple[str, ...]:
    """Return the columns that identify a row for users: its group keys or join keys."""
    match node:
        case Aggregate():
            return tuple(key.name for key in node.keys)
        case Dedupe() | Stateful():
            names = node.keys
        case Binary():
            of_left = {column.name for column in node.joined if column.side == "left"}
            names = tuple(
                dict.fromkeys(
                    r.column for condition in node.on for r in condition.refs if r.column in of_left
                )
            )
        case Filter() | Watermark() | Repartition() | Expand():
            return _keys(node.input)
        case Project():
            keys = _keys(node.input)
            return tuple(item.name for item in node.items if item.expression.column in keys)
        case _:
            return ()
    available = {column.name for column in node.columns}
    return tuple(name for name in names if name in available)
