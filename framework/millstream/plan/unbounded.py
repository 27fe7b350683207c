"""State that grows for ever: a warning for each operator that keeps it, with the line that would bound it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from millstream.expressions import Expression, Ref, quoted
from millstream.plan.from_sql.catalog import ModelSpec, PlanProblem
from millstream.plan.nodes import Aggregate, Dedupe, Join, Node, Stateful
from millstream.plan.traits import Traits
from millstream.types import BOOLEAN, TIMESTAMP

_ACCEPT = "config(unbounded_state='accept')"


class Stand(Struct, frozen=True):
    """An operator with state, and where it stands in the compiled SQL of its model or in its options."""

    node: Aggregate | Dedupe | Join | Stateful
    inputs: tuple[Traits, ...]
    start: int = 0
    stop: int = 0
    option: str = ""
    grown: tuple[str, ...] = ()
    """The SQL of what its rows are kept by."""
    times: tuple[str, ...] = ()
    """The SQL of the event times, of a join one for each side that has one."""


def unbounded(spec: ModelSpec, stands: Sequence[Stand]) -> list[PlanProblem]:
    """Warn of each operator of a model whose state is never dropped."""
    found: dict[tuple[str, int, int, str], PlanProblem] = {}
    for stand in stands:
        for code, message, remedy in _warnings(spec, stand):
            place = (code, stand.start, stand.stop, stand.option)
            said = PlanProblem(
                spec.id, code, message, f"{remedy}; or accept it: {_ACCEPT}", stand.start, stand.stop,
                stand.option, warning=True,
            )  # fmt: skip
            found.setdefault(place, said)
    return list(found.values())


def _warnings(spec: ModelSpec, stand: Stand) -> Iterator[tuple[str, str, str]]:
    if all(given.mode == "static" for given in stand.inputs):
        return
    match stand.node:
        case Aggregate():
            yield from _aggregate(spec, stand.node, stand)
        case Dedupe():
            yield from _dedupe(stand.node, stand)
        case Join():
            yield from _join(stand.node, stand)
        case Stateful():
            if stand.node.ttl is None:
                message = f"{stand.node.function}() keeps the state of each {_each(stand)} for ever"
                yield (
                    "MS563",
                    message,
                    "set config(state={'ttl': '7 days'}), which forgets keys that don't come again",
                )


def _aggregate(spec: ModelSpec, node: Aggregate, stand: Stand) -> Iterator[tuple[str, str, str]]:
    (given,) = stand.inputs
    window = node.window
    times = [name for name, _ in given.watermarks]
    if window is not None and window.expression.columns & set(times):
        return  # dropped once the watermark has passed its end
    if {key.expression.column for key in node.keys} & {*times}:
        return  # a key is an event time itself, such as the window of a closed window
    growing = [key for key in node.keys if key.expression.type != BOOLEAN and key is not window]
    if window is None and not growing:
        return
    message = f"this aggregate keeps one row per {_each(stand)} for ever"
    if window is not None:
        (*_, column) = ("", *sorted(window.expression.columns))
        yield "MS560", message, f"write {_watermark(column)} after the relation in FROM"
        return
    known = next(iter(times), "") or _timestamp(node.input)
    if not known:
        yield "MS560", message, "group by a window of an event time with a watermark as well"
        return
    remedy = f"add window({quoted(known)}, '1 day') to GROUP BY"
    if not times:
        remedy += f" and {_watermark(known)} after the relation in FROM"
    if spec.keys:
        remedy += ", and window.start to the columns and the key"
    yield "MS560", message, remedy


def _timestamp(node: Node) -> str:
    found = (c.name for c in node.columns if c.type == TIMESTAMP and not c.name.startswith("_"))
    return next(found, "")


def _watermark(column: str) -> str:
    return f"WATERMARK {quoted(column)} DELAY OF INTERVAL 10 SECONDS"


def _dedupe(node: Dedupe, stand: Stand) -> Iterator[tuple[str, str, str]]:
    (given,) = stand.inputs
    times = {name.lower() for name, _ in given.watermarks}
    if (node.within and times) or times & {key.lower() for key in node.keys}:
        return
    message = f"one row is remembered per distinct {_each(stand)} for ever"
    keys = ", ".join(f"'{key}'" for key in node.keys)
    bound = f"config(dedupe={{'keys': [{keys}], 'within': '1 day'}})"
    remedy = f"set {bound}" if stand.option else f"use {bound} instead of DISTINCT"
    if not times:
        known = next(iter(stand.times), "")
        remedy += f", and select {known} too" if known else ", and select an event time with a watermark too"
    yield "MS561", message, remedy


def _join(node: Join, stand: Stand) -> Iterator[tuple[str, str, str]]:
    left, right = bounded_sides(node, *stand.inputs)
    if left and right:
        return
    kept = "both sides" if not (left or right) else f"the {'right' if left else 'left'} side"
    message = f"this join keeps each row of {kept} for ever, since a match could still come"
    if len(stand.times) == 2:
        remedy = f"add to ON: {time_bound(*stand.times)}"
    else:
        remedy = "keep the columns with the sources' watermarks in both sides, and compare them in ON"
    yield "MS562", message, remedy


def time_bound(one: str, other: str) -> str:
    """Return the condition that lets Spark forget rows of both sides."""
    return f"{one} between {other} - interval 1 hour and {other} + interval 1 hour"


def bounded_sides(node: Join, left: Traits, right: Traits) -> tuple[bool, bool]:
    """Tell of which sides rows are dropped: those that no later row of the other side can meet.

    `left >= right - d` drops rows of the left side that are older than the right side's watermark less d.
    """
    times = {
        joined.name: joined.side
        for joined in node.joined
        for side, given in (("left", left), ("right", right))
        if joined.side == side and joined.source.lower() in {name.lower() for name, _ in given.watermarks}
    }
    dropped: set[str] = set()
    for condition in node.on:
        if {times.get(name) for name in condition.columns} >= {"left", "right"}:
            dropped |= _dropped(condition, times)
    return "left" in dropped, "right" in dropped


def _dropped(condition: Expression, times: Mapping[str, str]) -> set[str]:
    """Return the sides of which a comparison lets rows be dropped."""
    text = "".join(piece if isinstance(piece, str) else " " for piece in condition.pieces)
    first = next(
        (times[p.column] for p in condition.pieces if isinstance(p, Ref) and p.column in times), "left"
    )
    other = "right" if first == "left" else "left"
    if " between " in text:
        return {"left", "right"}
    if "<" in text:
        return {other}
    if ">" in text:
        return {first}
    return {"left", "right"} if "=" in text else set()


def _each(stand: Stand) -> str:
    first, rest = stand.grown[:4], stand.grown[4:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")
