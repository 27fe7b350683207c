"""Warns about state that grows forever, with a remedy for each operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from millstream.core.expressions import quote_name
from millstream.core.types import BOOLEAN, TIMESTAMP
from millstream.plan.from_sql.catalog import ModelSpec, PlanDiagnostic
from millstream.plan.join_times import dropped_sides, is_window
from millstream.plan.nodes import Aggregate, Dedupe, Join, Node, Stateful, TemporalJoin
from millstream.plan.traits import Traits, event_times

_ACCEPT = "config(unbounded_state='accept')"


class StatefulStep(Struct, frozen=True):
    """An operator with state, and its span in the compiled SQL of its model, or its option."""

    node: Aggregate | Dedupe | Join | TemporalJoin | Stateful
    inputs: tuple[Traits, ...]
    start: int = 0
    stop: int = 0
    option: str = ""
    grown: tuple[str, ...] = ()
    """The SQL of the columns that its state grows by."""
    times: tuple[str, ...] = ()
    """The SQL of the event times; for a join, one for each side that has one."""


def unbounded_state(spec: ModelSpec, steps: Sequence[StatefulStep]) -> list[PlanDiagnostic]:
    """Warn about each operator of a model whose state is never dropped."""
    warnings: dict[tuple[str, int, int, str], PlanDiagnostic] = {}
    for step in steps:
        for code, message, remedy in _warnings(spec, step):
            key = (code, step.start, step.stop, step.option)
            warning = PlanDiagnostic(
                code,
                message,
                f"{remedy}; or accept it: {_ACCEPT}",
                spec.id,
                step.start,
                step.stop,
                step.option,
                severity="warning",
            )
            warnings.setdefault(key, warning)
    return list(warnings.values())


def _warnings(spec: ModelSpec, step: StatefulStep) -> Iterator[tuple[str, str, str]]:
    if all(traits.mode == "static" for traits in step.inputs):
        return
    match step.node:
        case Aggregate():
            yield from _aggregate(spec, step.node, step)
        case Dedupe():
            yield from _dedupe(step.node, step)
        case Join():
            yield from _join(step.node, step)
        case Stateful():
            if step.node.ttl is None:
                message = f"{step.node.function}() keeps the state of each {_key_text(step)} forever"
                remedy = "set config(state={'ttl': '7 days'}), which forgets keys that don't come again"
                yield "MS563", message, remedy


def _aggregate(spec: ModelSpec, node: Aggregate, step: StatefulStep) -> Iterator[tuple[str, str, str]]:
    (traits,) = step.inputs
    window = node.window
    times = [name for name, _ in traits.watermarks]
    if window is not None and window.expression.columns & set(times):
        return  # dropped once the watermark has passed its end
    if {key.expression.column for key in node.keys} & {*times}:
        return  # a key is itself an event time, such as a closed window
    growing = [key for key in node.keys if key.expression.type != BOOLEAN and key is not window]
    if window is None and not growing:
        return
    message = f"this aggregate keeps one row per {_key_text(step)} forever"
    if window is not None:
        column = max(window.expression.columns, default="")
        remedy = f"write {watermark_clause(column)} after the relation in FROM"
        if times:
            remedy = f"take a window of {quote_name(times[0])}, the event time of these rows"
        yield "MS560", message, remedy
        return
    columns = (c.name for c in node.input.columns if c.type == TIMESTAMP and not c.name.startswith("_"))
    time_column = next(iter(times), "") or next(columns, "")
    if not time_column:
        yield "MS560", message, "group by a window of an event time with a watermark as well"
        return
    remedy = f"add window({quote_name(time_column)}, '1 day') to GROUP BY"
    if not times:
        remedy += f" and {watermark_clause(time_column)} after the relation in FROM"
    if spec.given_keys:
        remedy += ", and window.start to the columns and the key"
    yield "MS560", message, remedy


def watermark_clause(column: str) -> str:
    """Return a clause that makes a column of a relation its event time."""
    return f"WATERMARK {quote_name(column)} DELAY OF INTERVAL 10 SECONDS"


def _dedupe(node: Dedupe, step: StatefulStep) -> Iterator[tuple[str, str, str]]:
    (traits,) = step.inputs
    times = {name.lower() for name, _ in traits.watermarks}
    if (node.within and times) or times & {key.lower() for key in node.keys}:
        return
    message = f"this dedupe remembers each distinct {_key_text(step)} forever"
    keys = ", ".join(f"'{key}'" for key in node.keys)
    bound = f"config(dedupe={{'keys': [{keys}], 'within': '1 day'}})"
    remedy = f"set {bound}" if step.option else f"use {bound} instead of DISTINCT"
    if not times:
        event_time = next(iter(step.times), "")
        remedy += f", and also select {event_time or 'an event time with a watermark'}"
    yield "MS561", message, remedy


def _join(node: Join, step: StatefulStep) -> Iterator[tuple[str, str, str]]:
    left, right = bounded_sides(node, *step.inputs)
    if left and right:
        return
    sides = "both sides" if not (left or right) else f"the {'right' if left else 'left'} side"
    message = f"this join keeps each row of {sides} forever, since a match could still arrive"
    if not (remedy := join_bound(node, step.inputs, step.times)):
        remedy = "select the columns with the sources' watermarks on both sides, and compare them in ON"
    yield "MS562", message, remedy


def join_bound(node: Join, inputs: Sequence[Traits], times: Sequence[str], on: str = "ON") -> str:
    """Return what to write in ON so that Spark drops the rows of both sides; empty if a side has no time.

    `times` are the SQL of an event time of each side. Spark reads no bounds from a window and its fields.
    """
    if len(times) != 2:
        return ""
    windows = [_only_windows(side, traits) for side, traits in zip(node.inputs, inputs, strict=True)]
    one, other = times
    column = f"select window_time(window) as a column in a subquery, and bound that column in {on}"
    if all(windows):
        return f"compare whole windows in {on}: {one} = {other}; or {column}"
    if any(windows):
        return column
    return f"add to {on}: {one} between {other} - interval 1 hour and {other} + interval 1 hour"


def _only_windows(node: Node, traits: Traits) -> bool:
    """Return whether the only event times of a relation are windows."""
    types = [node.column(name).type for name, _ in traits.watermarks]
    return bool(types) and all(map(is_window, types))


def bounded_sides(node: Join, left: Traits, right: Traits) -> tuple[bool, bool]:
    """Return whether Spark drops the rows of the left and of the right side that can't match any more."""
    dropped = dropped_sides(node, event_times(node, left, right))
    return "left" in dropped, "right" in dropped


def without_end(spec: ModelSpec, steps: Sequence[StatefulStep], ttl: str) -> Iterator[tuple[str, str, str]]:
    """Yield the steps that a `ttl` can't end, with what to write instead: code, message and remedy."""
    for step in steps:
        if all(traits.mode == "static" for traits in step.inputs):
            continue
        match step.node:
            case Aggregate(window=None) as node if any(_aggregate(spec, node, step)):
                (traits,) = step.inputs
                columns = (
                    column.name
                    for column in node.input.columns
                    if column.type == TIMESTAMP and column.name[:1] != "_"
                )
                times = [name for name, _ in traits.watermarks]
                time_column = next(iter(times), "") or next(columns, "")
                message = (
                    "'state: {ttl}' can't end the groups of an aggregate: whether a row finds its old group "
                    "would depend on the batches that read it"
                )
                how = (
                    f"add session_window({quote_name(time_column)}, '{ttl}')"
                    if time_column
                    else "add session_window(…)"
                )
                remedy = (
                    f"remove it, {how} to GROUP BY, which ends groups by event time, and set emit='on_close'"
                )
                if time_column and not times:
                    remedy += f"; and write {watermark_clause(time_column)} after the relation in FROM"
                yield "MS676", message, remedy
            case Join() as node if not all(bounded_sides(node, *step.inputs)):
                yield "MS677", *_join_without_time(step)


def _join_without_time(step: StatefulStep) -> tuple[str, str]:
    left, right = step.inputs
    if len(step.times) == 2:
        message = (
            "'state: {ttl}' bounds a join by one timestamp of each side, and a side has several event times"
        )
        assert isinstance(step.node, Join)
        return message, f"remove it, and {join_bound(step.node, step.inputs, step.times)}"
    sides = (
        "both sides have"
        if not (left.watermarks or right.watermarks)
        else (f"the {'right' if left.watermarks else 'left'} side has")
    )
    message = f"'state: {{ttl}}' bounds a join by the event times of its sides, and {sides} none"
    return message, "select the columns with the sources' watermarks on both sides"


def _key_text(step: StatefulStep) -> str:
    first, rest = step.grown[:4], step.grown[4:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")
