"""What follows from a plan for each of its relations: mode, key, partitioning, watermark.

Every trait is derived, in one place, from a node and the traits of its inputs; nothing stores it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression, Ref
from millstream.plan.closing import is_of_column, never_closes
from millstream.plan.keys import Columns, Known, determined, microseconds, present
from millstream.plan.nodes import (
    Aggregate,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Given,
    Item,
    Join,
    Lookup,
    Node,
    Opaque,
    Output,
    Plan,
    Project,
    Repartition,
    SeedScan,
    Stateful,
    TableScan,
    TopicScan,
    Union,
    Watermark,
)
from millstream.plan.streaming import ApartError, Kind, Refused, bounds_both, conflicts, kind_of

Mode = Literal["append", "upsert", "static"]


class Traits(Struct, frozen=True):
    mode: Mode
    keys: tuple[str, ...] = ()
    """Of an upsert relation: the columns that tell its rows apart."""
    partitioned: tuple[str, ...] | None = None
    """The columns whose equal values are in one place; () is everything in one place."""
    watermarks: tuple[tuple[str, str], ...] = ()
    """Event times: column and delay."""
    below: tuple[Kind, ...] = ()
    """The steps with state, and the watermark, that its rows pass within the query that makes them."""
    spaced: tuple[Spaced, ...] = ()
    """Of an upsert relation: its times of which it is known how far apart they are."""


_TEXT = re.compile(r"'([^']*)'")
_COUNTED = re.compile(r"count\(\s*distinct\s+([^,()]+)\)", re.IGNORECASE)
_DISTINCT = re.compile(r"\w+\(\s*distinct\b", re.IGNORECASE)


class Spaced(Struct, frozen=True):
    """A column of times: a window, or the start or end of one."""

    column: str
    apart: int
    """Microseconds between two that differ, at least."""
    window: bool = False


class NotIncrementalError(Exception):
    """What can't be kept up to date row by row."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy


class KeyLostError(NotIncrementalError):
    """Columns of the key are not selected."""

    def __init__(self, lost: tuple[str, ...], reason: str) -> None:
        because = f"; {reason}" if reason else ""
        message = f"the key of these rows is lost: {_listed(lost)}{because}"
        remedy = f"also select {_listed(lost)}: a changed row replaces the one with the same key"
        super().__init__("MS511", message, remedy)
        self.lost = lost
        self.reason = reason

    def written(self, names: Mapping[str, str]) -> KeyLostError:
        """Return the same with the SQL of keys: `group by upper(kind)` gives its key a made-up name."""
        reason = re.sub(r"\bkey_\d+\b", lambda found: names.get(found[0], found[0]), self.reason)
        return KeyLostError(tuple(names.get(name, name) for name in self.lost), reason)


def traits_of(node: Node) -> Traits:
    """Return a node's traits, which are kept with it: neither it nor what it reads ever changes."""
    if (kept := node.__dict__.get(_KEPT)) is not None:
        return kept  # type: ignore[no-any-return]  # written below
    waiting = [node]
    while waiting:  # inputs first, however deep they are
        top = waiting[-1]
        known = top.__dict__
        if _KEPT in known:
            waiting.pop()
            continue
        inputs = top.inputs
        missing = [each for each in inputs if _KEPT not in each.__dict__]
        if missing:
            waiting += missing
        else:
            known[_KEPT] = traits(waiting.pop(), [each.__dict__[_KEPT] for each in inputs])
    found: Traits = node.__dict__[_KEPT]
    return found


_KEPT = "traits"


def all_traits(plan: Plan) -> dict[int, Traits]:
    """Return the traits of every node by its `id`."""
    return {id(node): traits_of(node) for node in plan.order}


class KnownTraits:
    """Traits of nodes of which some are told: what they would have, were there no mistake in them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Node, Traits]] = {}

    def of(self, node: Node) -> Traits:
        """Return a node's traits; those of what it reads are found on the way, however deep."""
        waiting = [node]
        while waiting:
            top = waiting[-1]
            if id(top) in self._known:
                waiting.pop()
                continue
            missing = [each for each in top.inputs if id(each) not in self._known]
            if missing:
                waiting += missing
            else:
                self.note(waiting.pop(), traits(top, [self._known[id(each)][1] for each in top.inputs]))
        return self._known[id(node)][1]

    def note(self, node: Node, found: Traits) -> None:
        # The node is kept: another one could get its `id`.
        self._known[id(node)] = (node, found)


def traits(node: Node, inputs: list[Traits]) -> Traits:
    """Return the traits of a node that reads these; raise where a streaming query can't run it right."""
    found = _traits(node, inputs)
    if found.mode == "static":
        return found
    own = _own_kind(node, inputs)
    below = {*found.below, *(kind for each in inputs for kind in each.below), *((own,) if own else ())}
    return found if below == {*found.below} else replace(found, below=tuple(sorted(below)))


def apart_ignored(node: Node, inputs: list[Traits]) -> Traits:
    """Return the traits that a node would have if it could share a query with what it reads."""
    return traits(node, [replace(each, below=()) for each in inputs])


def _own_kind(node: Node, inputs: list[Traits]) -> Kind | None:
    """Return what a step is to its query, once it is sure that the query can run it."""
    kind = kind_of(node, bounded=isinstance(node, Join) and _bounds(node, *inputs))
    if kind is None:
        return None
    found = conflicts(kind, {below for each in inputs for below in each.below})
    for rule in found.values():
        if isinstance(rule, Refused):
            raise NotIncrementalError(rule.code, rule.why, rule.remedy)
    if found:
        raise ApartError(kind, frozenset(found), next(iter(found.values())).why)
    return kind


def _bounds(node: Join, left: Traits, right: Traits) -> bool:
    names: dict[tuple[str, str], str] = {(j.side, j.source.lower()): j.name for j in node.joined}
    sides = [
        {names[side, name.lower()] for name, _ in given.watermarks if (side, name.lower()) in names}
        for side, given in (("left", left), ("right", right))
    ]
    return bounds_both(node, *sides)


def _traits(node: Node, inputs: list[Traits]) -> Traits:
    match node:
        case Filter() | Output():
            return inputs[0]
        case Project():
            return projected(inputs[0], node.input, node.items, node.keys)
        case Union():
            return _united(inputs)
        case Given():
            spaced = tuple(Spaced(*each) for each in node.spaced)
            return Traits(node.mode, node.keys, None, node.watermarks, node.below, spaced)
        case TopicScan():
            return Traits("append")
        case SeedScan():
            return Traits("static")
        case TableScan():
            if not node.changes:
                return Traits("static")
            return Traits("upsert", node.keys, below=("table changes",) if node.stored else ())
        case Decode():
            return Traits("upsert", node.unique_by) if node.unique_by else Traits("append")
        case Watermark():
            first = inputs[0]
            times = {name: delay for name, delay in first.watermarks if name != node.time}
            return Traits(
                first.mode,
                first.keys,
                first.partitioned,
                (*times.items(), (node.time, node.delay)),
                spaced=first.spaced,
            )
        case Expand():
            return _expanded(node, inputs[0])
        case Repartition():
            return replace(inputs[0], partitioned=node.keys)
        case Aggregate():
            return _aggregated(node, inputs[0])
        case Dedupe():
            return _appended(
                "a dedupe", "dedupe before the aggregate, where events are only added", inputs[0]
            )
        case Stateful():
            _appended(f"{node.function}()", "give it events, not the results of an aggregate", inputs[0])
            return Traits("append", (), None, ())
        case Lookup():
            return _joined(node, inputs[0], inputs[1])
        case Join():
            return _joined_streams(node, inputs[0], inputs[1])
        case Opaque():
            return _opaque(node, inputs)
        case _:
            raise TypeError(type(node))


def _appended(what: str, remedy: str, given: Traits) -> Traits:
    if given.mode == "upsert":
        newest = f"its input holds the newest row per {_listed(given.keys)}"
        message = f"{what} can't read rows that change later: {newest}"
        raise NotIncrementalError("MS510", message, remedy)
    return Traits(given.mode, (), given.partitioned, given.watermarks)


# -- stateless steps


def projected(given: Traits, of: Node, items: Iterable[Item], chosen: tuple[str, ...] = ()) -> Traits:
    """Return what is left of the traits of an input when only these items are."""
    if given.mode != "upsert" and given.partitioned is None and not given.watermarks:
        return given
    listed = list(items)
    names: dict[str, str] = {}
    for item in listed:
        if (column := item.expression.column) is not None:
            names.setdefault(column.lower(), item.name)
    keys: tuple[str, ...] = ()
    if given.mode == "upsert":
        keys = chosen or projected_keys(given, of, listed)
    partitioned = given.partitioned
    if partitioned is not None:
        partitioned = _renamed(partitioned, names)
    spaced = _still_spaced(given.spaced, names, listed)
    return Traits(given.mode, keys, partitioned, _event_times(given, listed), spaced=spaced)


def _event_times(given: Traits, items: Iterable[Item]) -> tuple[tuple[str, str], ...]:
    """Return the event times that items keep: as they are, or a window's as `window_time(window)`."""
    delays = {name.lower(): delay for name, delay in given.watermarks}
    found: dict[str, tuple[str, str]] = {}
    for item in items:
        kept = item.expression.column or window_time_of(item.expression)
        if kept is not None and kept.lower() in delays:
            found.setdefault(item.expression.text, (item.name, delays[kept.lower()]))
    return tuple(found.values())


def window_time_of(expression: Expression) -> str | None:
    """Return the window whose time `window_time(window)` is."""
    match expression.pieces:
        case (str() as call, Ref() as ref, ")") if call.lower().replace(" ", "") == "window_time(":
            return ref.column
    return None


def _still_spaced(
    spaced: tuple[Spaced, ...], names: Mapping[str, str], items: list[Item]
) -> tuple[Spaced, ...]:
    found = [
        replace(each, column=names[each.column.lower()]) for each in spaced if each.column.lower() in names
    ]
    for each in spaced:
        if each.window:
            found += [
                Spaced(item.name, each.apart) for item in items if _is_bound(item.expression, each.column)
            ]
    return tuple(found)


def _is_bound(expression: Expression, window: str) -> bool:
    """Tell whether this is the start or end of a window."""
    match expression.pieces:
        case (Ref() as ref, str() as path):
            return ref.column.lower() == window.lower() and path.lower() in {".start", ".end"}
    return False


def _renamed(columns: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...] | None:
    if any(column.lower() not in names for column in columns):
        return None
    return tuple(names[column.lower()] for column in columns)


def projected_keys(
    given: Traits, of: Node, items: list[Item], *, fixed_offset: bool = True
) -> tuple[str, ...]:
    """Return the columns that tell rows apart after a projection.

    A key is kept under its new name, or as what it can be told from, such as the start of a window; several
    keys as one column from which all can be told. Only the builder knows the time zone (`fixed_offset`).
    """
    known = known_columns(of, given)
    wanted = [key.lower() for key in given.keys]
    tells: dict[str, str] = {}
    reasons: list[str] = []
    joint: list[tuple[Item, frozenset[str]]] = []
    for item in items:
        if (column := item.expression.column) is not None:
            tells.setdefault(column.lower(), item.name)
    for item in items:
        read = item.expression.folded
        if item.expression.column is not None or not read or not read <= set(wanted):
            continue
        value = determined(item.expression, known, fixed_offset=fixed_offset)
        if value.why:
            reasons.append(f"{item.name} can't stand for it, because {value.why}")
        elif value.columns == read:
            joint.append((item, value.columns))
            if len(value.columns) == 1:
                tells.setdefault(next(iter(value.columns)), item.name)
    lost = [key for key in wanted if key not in tells]
    if not lost:
        return tuple(dict.fromkeys(tells[key] for key in wanted))
    for item, columns in joint:
        if columns.issuperset(lost):
            return (*(tells[key] for key in wanted if key not in columns), item.name)
    named = [key for key in given.keys if key.lower() in lost]
    raise KeyLostError(tuple(named), next(iter(reasons), ""))


def known_columns(of: Node, given: Traits) -> Columns:
    """Return what is known of a relation's columns."""
    spaced = {each.column.lower(): each for each in given.spaced}

    def known(name: str) -> Known | None:
        column = of.by_name.get(name.lower())
        if column is None:
            return None
        times = spaced.get(name.lower())
        nullable = column.nullable and name.lower() not in present(of)
        if times is None:
            return Known(column.type, nullable)
        return Known(column.type, nullable, times.apart, times.window)

    return known


def _expanded(node: Expand, given: Traits) -> Traits:
    if given.mode == "upsert":
        raise NotIncrementalError(
            "MS510",
            f"{node.function}() makes several rows of one that changes: the newest per {_listed(given.keys)}",
            "expand the events before they are aggregated",
        )
    return given


# -- stateful steps


def _aggregated(node: Aggregate, given: Traits) -> Traits:
    _appended("an aggregate", _aggregate_remedy(given), given)
    if given.mode == "static":
        return Traits("static")
    for measure in node.measures:
        if _DISTINCT.match(str(measure.call.pieces[0])):
            message = "Spark can't keep what is distinct as rows come"
            remedy = "aggregate a subquery with SELECT DISTINCT"
            if (counted := _COUNTED.fullmatch(measure.call.text)) is not None:
                exact, roughly = (
                    f"{call}({counted[1]})" for call in ("collect_set", "approx_count_distinct")
                )
                remedy = f"size({exact}) counts exactly, {roughly} in little memory"
            raise NotIncrementalError("MS524", message, remedy)
    window = node.window
    times: tuple[tuple[str, str], ...] = ()
    if window is not None:
        time = _time_of(window.expression)
        times = tuple((window.name, delay) for name, delay in given.watermarks if name.lower() == time)
    else:
        delays = {name.lower(): delay for name, delay in given.watermarks}
        kept = ((key.name, key.expression.column) for key in node.keys)
        times = tuple((name, delays[of.lower()]) for name, of in kept if of and of.lower() in delays)
    keys = tuple(key.name for key in node.keys)
    _check_emit(node, times, given)
    if node.emit == "on_close":
        return Traits("append", (), keys, times)
    return Traits("upsert", keys, keys, times, spaced=() if window is None else _windows(window))


def _windows(window: Item) -> tuple[Spaced, ...]:
    """Return how far apart windows begin: by their slide, or by their length."""
    match window.expression.pieces:
        case (str() as call, Ref(), str() as rest, *_) if call.startswith("window("):
            lengths = [microseconds(text) for text in _TEXT.findall(rest)][:2]
            return (Spaced(window.name, lengths[-1] or 1 if lengths else 1, window=True),)
        case _:
            return ()


def _time_of(window: Expression) -> str:
    """Return the column whose watermark closes a window: of an expression, TimeWindowing knows of none."""
    match window.pieces:
        case (str() as call, Ref() as ref, str() as rest, *_) if is_of_column(call, rest):
            return ref.column.lower()
        case _:
            return ""


def _aggregate_remedy(given: Traits) -> str:
    if given.watermarks and any(each.window for each in given.spaced):
        return "move the windows to a model of their own with config(emit='on_close'): its rows are final"
    return "read events instead of the result of another aggregate, or of a topic with `table: true`"


def _check_emit(node: Aggregate, times: tuple[tuple[str, str], ...], given: Traits) -> None:
    if node.emit == "on_close" and not times:
        raise NotIncrementalError("MS512", *never_closes(node, [name for name, _ in given.watermarks]))
    if (
        node.emit == "on_change"
        and node.window is not None
        and node.window.expression.text.startswith("session_window(")
    ):
        raise NotIncrementalError(
            "MS512",
            "a session has no fixed bounds until it closes, so Spark can't refine it early",
            "set config(emit='on_close')",
        )


def _joined(node: Lookup, stream: Traits, table: Traits) -> Traits:
    if table.mode != "static":
        raise TypeError(f"the right side of a lookup is {table.mode}")
    left = {joined.source.lower(): joined.name for joined in node.joined if joined.side == "left"}
    keys = tuple(left[key.lower()] for key in stream.keys)
    partitioned = None if stream.partitioned is None else _renamed(stream.partitioned, left)
    times = tuple((left[name.lower()], delay) for name, delay in stream.watermarks if name.lower() in left)
    spaced = tuple(
        replace(each, column=left[each.column.lower()])
        for each in stream.spaced
        if each.column.lower() in left
    )
    return Traits(stream.mode, keys, partitioned, times, spaced=spaced)


def _joined_streams(node: Join, left: Traits, right: Traits) -> Traits:
    if left.mode == right.mode == "static":
        return Traits("static")
    names: dict[tuple[str, str], str] = {(j.side, j.source.lower()): j.name for j in node.joined}
    for given in (left, right):
        if given.mode == "upsert":
            raise NotIncrementalError(
                "MS513",
                f"a join of streams can't read rows that change later: the newest per {_listed(given.keys)}",
                "store that side as a table (materialized='table') and join the table: a lookup of its rows",
            )
    times = [(names["left", n.lower()], d) for n, d in left.watermarks if ("left", n.lower()) in names]
    if node.kind not in {"semi", "anti"}:
        times += [
            (names["right", n.lower()], d) for n, d in right.watermarks if ("right", n.lower()) in names
        ]
    return Traits("append", (), None, tuple(times))


def _united(inputs: list[Traits]) -> Traits:
    for given in inputs:
        if given.mode == "upsert":
            raise NotIncrementalError(
                "MS510",
                f"UNION can't tell apart rows that change later, the newest per {_listed(given.keys)}",
                "unite the events before they are aggregated",
            )
    if all(given.mode == "static" for given in inputs):
        return Traits("static")
    first = inputs[0]
    shared = tuple(time for time in first.watermarks if all(time in other.watermarks for other in inputs))
    return Traits("append", (), None, shared)


def _opaque(node: Opaque, inputs: list[Traits]) -> Traits:
    if all(given.mode == "static" for given in inputs):
        return Traits("static")
    changing = next((given for given in inputs if given.mode == "upsert"), None)
    if changing is not None:
        raise NotIncrementalError(
            "MS514",
            "SQL that is not understood can't read rows that change later, since it might count them twice",
            f"move what is not understood to a seed, or to a model over events: {node.reasons[0]}",
        )
    return Traits("append")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "table"
