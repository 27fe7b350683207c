"""Joins that drop rows, over an upsert relation: a row without a match is a delete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, join_pieces
from millstream.core.types import BOOLEAN
from millstream.plan.nodes import Join, JoinColumn, Lookup, Node
from millstream.queries.emit.draft import Draft, FromSource, rewrite_within
from millstream.queries.emit.fuse import unused_name

if TYPE_CHECKING:
    Close = Callable[[Draft, Node, str], Draft]

MET = "_met"


def join_upserts(close: Close, left: Draft, right: Draft, node: Join | Lookup) -> Draft:
    """Write every kind as a left join; `_met` of the right side marks rows with a match."""
    (source,) = right.sources
    keeps_right = node.kind in {"inner", "cross"}
    by = {joined.name: joined for joined in node.joined}
    marker = unused_name(MET, right.items)
    met = Expression(("true",), BOOLEAN, nullable=False, atomic=True)
    conditions = list(node.on)
    if keeps_right:
        side = close(replace(right, items={**right.items, marker: met}), node.right, f"{source.name}_met")
    else:
        # One row for each combination of compared values, as `matches_by_equality`: no left row is doubled.
        right_conditions = [condition for condition in conditions if _sides(condition, by) == {"right"}]
        conditions = [condition for condition in conditions if _sides(condition, by) != {"right"}]
        read = dict.fromkeys(
            by[name].source
            for condition in conditions
            for name in condition.columns
            if by[name].side == "right"
        )
        items = {name: right.items[name] for name in read}
        of_right = Draft({j.name: right.items[j.source] for j in node.joined if j.side == "right"})
        where = (*right.where, *(rewrite_within(of_right, condition) for condition in right_conditions))
        once = replace(right, items={**items, marker: met}, where=where, keys=tuple(items.values()))
        side = close(once, node.right, f"{source.name}_met")
    alias = unused_name(side.sources[0].name, left.aliases)
    of_side = {
        name: replace(expression, pieces=(Ref(name, alias),)) for name, expression in side.items.items()
    }
    items = {
        j.name: left.items[j.source] if j.side == "left" else of_side[j.source]
        for j in node.joined
        if j.side == "left" or j.source in of_side
    }
    on = tuple(rewrite_within(Draft(items), condition) for condition in conditions)
    on = on or (met,)
    test = " is not null" if node.kind == "anti" else " is null"
    missed: tuple[str | Ref, ...] = (Ref(marker, alias), test)
    before = (*left.deleted.pieces, " or ") if left.deleted is not None else ()
    names = {column.name for column in node.columns}
    return replace(
        left,
        items={name: expression for name, expression in items.items() if name in names},
        sources=(*left.sources, FromSource(side.sources[0].name, alias, "left join", on)),
        deleted=Expression(join_pieces((*before, *missed)), BOOLEAN, nullable=False),
    )


def _sides(condition: Expression, by: Mapping[str, JoinColumn]) -> set[str]:
    return {by[name].side for name in condition.columns}
