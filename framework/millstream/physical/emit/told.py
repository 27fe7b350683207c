"""Calls of Python functions where the record of a row is not known any more: each says which row it is for.

    select share_at(named_struct('model', 'shares', 'user', cast(user as string)), total) as share from totals

What fails then names the model and the row's key. Within an aggregate Spark takes no function that it must
call once for a row, and for no other rows; so such a call is a column of a SELECT below the aggregate:

    sum(share(value)) filter (where ok)
    sum(_share) filter (where ok) … share_at(if(ok, named_struct(…), null), value) as _share
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from millstream.expressions import Expression, Piece, Ref, column, joined, literal
from millstream.optimizer.calls import calls, with_column, with_first
from millstream.physical.emit.fuse import unused
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
from millstream.types import UNKNOWN

TOLD = "_at"
"""What the name of a function ends in that takes, before its arguments, what tells of its row.

Where that is NULL it is not called, and gives NULL.
"""

Place = tuple[Piece, ...]


def told(node: Project) -> Project:
    if not any(item.expression.functions for item in node.items):
        return node
    place = _place(node)
    return replace(node, items=tuple(Item(i.name, _told(i.expression, place)) for i in node.items))


def told_filter(node: Filter) -> Filter:
    if not any(each.functions for each in node.conditions):
        return node
    place = _place(node)
    return replace(node, conditions=tuple(_told(each, place) for each in node.conditions))


def told_rows(node: Expand) -> Expand:
    return replace(node, call=_told(node.call, _place(node))) if node.call.functions else node


def calls_below(node: Aggregate) -> tuple[Project, Aggregate] | None:
    """Return an aggregate over columns that its calls became; None where there are no such calls."""
    if not any(part.functions for measure in node.measures for part in _parts(measure)):
        return None
    made: dict[tuple[Place, str], Item] = {}
    place = _place(node, tuple(key.expression.column for key in node.keys if key.expression.column))
    used = list(node.input.names)

    def lifted(given: Expression, where: Expression | None) -> Expression:
        asked = where if where is not None and not where.functions else None
        told_of = place if asked is None else ("if(", *asked.pieces, ", ", *place, ", null)")
        while found := calls(given):
            key = (found[0].pieces, asked.content if asked is not None else "")
            if key not in made:
                name = unused(f"_{found[0].function}", used)
                used.append(name)
                call = Expression(
                    found[0].pieces, UNKNOWN, raises=True, functions=found[0].inner, atomic=True
                )
                made[key] = Item(name, _told(call, told_of))
            given = with_column(given, found[0], made[key].name)
        return given

    measures = tuple(_measure(each, lifted) for each in node.measures)
    if not made:
        return None
    parts = [*(key.expression for key in node.keys), *(part for each in measures for part in _parts(each))]
    read = {name for part in parts for name in part.columns}
    kept = (Item(c.name, column(c.name, c.type, nullable=c.nullable)) for c in node.input.columns)
    items = (*(item for item in kept if item.name in read), *made.values())
    project = Project(input=node.input, items=items, models=node.models)
    return project, replace(node, input=project, measures=measures)


def left_within(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return the functions that stay within aggregates and conditions of joins: Spark may call them twice."""
    found: list[str] = []
    for node in nodes:
        match node:
            case Aggregate():
                lifted = calls_below(node)
                measures = lifted[1].measures if lifted else node.measures
                found += (name for m in measures for part in _parts(m) for name in part.functions)
            case Binary():
                found += (name for each in node.on for name in each.functions)
    return tuple(dict.fromkeys(found))


def _measure(given: Measure, lifted: Callable[[Expression, Expression | None], Expression]) -> Measure:
    if not any(part.functions for part in _parts(given)):
        return given
    condition = None if given.condition is None else lifted(given.condition, None)
    return replace(given, call=lifted(given.call, given.condition), condition=condition)


def _parts(measure: Measure) -> tuple[Expression, ...]:
    return (measure.call,) if measure.condition is None else (measure.call, measure.condition)


def _told(expression: Expression, place: Place) -> Expression:
    # Calls within lambdas are left as they are: Spark takes no others there.
    return with_first(expression, TOLD, place) if calls(expression, anywhere=True) else expression


def _place(node: Project | Filter | Expand | Aggregate, keys: tuple[str, ...] | None = None) -> Place:
    names = " and ".join(model.partition(".")[2] or model for model in node.models)
    pieces: list[Piece] = [f"named_struct('model', {literal(names)}"]
    for name in _keys(node.input) if keys is None else keys:
        pieces += [f", {literal(name)}, cast(", Ref(name), " as string)"]
    return joined((*pieces, ")"))


def _keys(node: Node) -> tuple[str, ...]:
    """Return the columns that people know a row by: those that it was grouped or joined by."""
    match node:
        case Aggregate():
            return tuple(key.name for key in node.keys)
        case Dedupe() | Stateful():
            names = node.keys
        case Binary():
            of_left = {each.name for each in node.joined if each.side == "left"}
            names = tuple(
                dict.fromkeys(r.column for each in node.on for r in each.refs if r.column in of_left)
            )
        case Filter() | Watermark() | Repartition() | Expand():
            return _keys(node.input)
        case Project():
            known = _keys(node.input)
            return tuple(item.name for item in node.items if item.expression.column in known)
        case _:
            return ()
    there = {column.name for column in node.columns}
    return tuple(name for name in names if name in there)
