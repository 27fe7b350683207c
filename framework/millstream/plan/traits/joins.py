"""The traits of joins and lookups."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.plan.join_times import dropped_sides
from millstream.plan.nodes import Join, Lookup, TemporalJoin
from millstream.plan.traits.projections import rename_columns
from millstream.plan.traits.values import NotIncrementalError, Traits, key_text, require_append

_JOINED = "join the table as a lookup"
_LOOKUP = "write a left join from the stream to it"


def lookup_traits(node: Lookup, stream: Traits, table: Traits) -> Traits:
    if table.mode != "static":
        raise TypeError(f"the right side of a lookup is {table.mode}")
    left = {joined.source.lower(): joined.name for joined in node.joined if joined.side == "left"}
    keys = tuple(left[key.lower()] for key in stream.keys)
    partitioned = rename_columns(stream.partitioned, left)
    spacings = tuple(
        replace(spacing, column=left[spacing.column.lower()])
        for spacing in stream.spacings
        if spacing.column.lower() in left
    )
    return Traits(stream.mode, keys, partitioned, tuple(_times(node, "left", stream)), spacings=spacings)


def joined_streams(node: Join, left: Traits, right: Traits) -> Traits:
    if left.mode == right.mode == "static":
        return Traits("static")
    for side, side_traits in (("left", left), ("right", right)):
        if side_traits.mode == "upsert":
            changing = key_text(side_traits.keys)
            message = f"a join of streams can't read rows that change later: the newest per {changing}"
            join = "write an inner join from the stream to it" if node.kind == "semi" else _LOOKUP
            # A row of the table that has no match yet may get one at any time.
            returned = node.kind in {side, "full"} or (node.kind in {"semi", "anti"} and side == "left")
            remedy = f"store that side as a table (materialized='table'), and {join if returned else _JOINED}"
            raise NotIncrementalError("MS513", message, remedy)
    times = _times(node, "left", left)
    if node.kind not in {"semi", "anti"}:
        times += _times(node, "right", right)
    return Traits("append", (), None, tuple(times))


def joined_as_of(node: TemporalJoin, events: Traits) -> Traits:
    remedy = "store these rows in a table, and make this model a table that joins it with the versions"
    require_append("FOR SYSTEM_TIME AS OF", remedy, events)
    return Traits("append", (), None, tuple(_times(node, "left", events)))


def is_bounded(node: Join, left: Traits, right: Traits) -> bool:
    """Return whether rows of both sides are dropped when the watermark is past their last match."""
    return len(dropped_sides(node, event_times(node, left, right))) == 2


def event_times(node: Join, left: Traits, right: Traits) -> frozenset[str]:
    """Return the event times of both sides, by their names in the join."""
    sides = (_times(node, "left", left), _times(node, "right", right))
    return frozenset(name for times in sides for name, _ in times)


def _times(node: Join | Lookup | TemporalJoin, side: str, side_traits: Traits) -> list[tuple[str, str]]:
    """Return the event times of one side with their delays, by their names in the join."""
    names = {j.source.lower(): j.name for j in node.joined if j.side == side}
    return [(names[name.lower()], delay) for name, delay in side_traits.watermarks if name.lower() in names]
