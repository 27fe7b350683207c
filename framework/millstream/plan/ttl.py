"""Checks by which time the `ttl` of a model's state counts: the clock, or event times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from millstream.core.types import TIMESTAMP
from millstream.plan.nodes import Join, Node, Stateful
from millstream.plan.traits import Traits
from millstream.plan.unbounded import StatefulStep, watermark_clause


def only_time(node: Node, traits: Traits) -> str | None:
    """Return the event time of rows, if there is exactly one, and it is a timestamp."""
    times = [name for name, _ in traits.watermarks]
    return times[0] if len(times) == 1 and node.column(times[0]).type == TIMESTAMP else None


def wrong_time(state: Mapping[str, Any], steps: Sequence[StatefulStep]) -> Iterator[tuple[str, str, str]]:
    """Yield what can't expire by the time that `ttl_by` names: code, message and remedy."""
    by = state.get("ttl_by")
    if by and not state.get("ttl"):
        yield "MS522", "'state: {ttl_by}' has no effect without 'ttl'", "remove it, or set ttl as well"
        return
    for step in steps:
        if all(traits.mode == "static" for traits in step.inputs):
            continue
        match step.node:
            case Join() if by == "processing_time":
                message = (
                    "the rows of a join can't expire by processing time: whether two rows match would depend "
                    "on when they are read"
                )
                yield "MS678", message, "remove ttl_by: a ttl of a join counts by event time"
            case Stateful(time=None) as node if by == "event_time":
                yield "MS679", *_without_time(node, step)


def _without_time(node: Stateful, step: StatefulStep) -> tuple[str, str]:
    (traits,) = step.inputs
    start = f"the state of {node.function}() can't expire by event time"
    times = [name for name, _ in traits.watermarks]
    if len(times) > 1:
        time_columns = ", ".join(times)
        return (
            f"{start}: its rows have several, {time_columns}",
            "select only one of them in a subquery in FROM",
        )
    if times:
        return (
            f"{start}: `{times[0]}` is not a timestamp",
            "remove ttl_by, which makes it expire by the clock",
        )
    columns = (
        column.name for column in node.input.columns if column.type == TIMESTAMP and column.name[:1] != "_"
    )
    if time_column := next(columns, ""):
        remedy = f"write {watermark_clause(time_column)} after the relation in FROM"
    else:
        remedy = "select the column with the source's watermark for its rows"
    return f"{start}: its rows have none", remedy
