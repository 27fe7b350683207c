"""Restricts a model to the rows whose time is in a range, to compute these again."""

from __future__ import annotations

from datetime import datetime, timezone, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, quote_name
from millstream.core.types import BOOLEAN, DATE, TIMESTAMP, Type
from millstream.plan.nodes import Aggregate, Column, Filter, Node, Output
from millstream.plan.nodes.order import in_order


class TimeRange(Struct, frozen=True):
    """The rows whose time is not before `start`, and before `end`."""

    column: str
    type: Type
    start: str
    """A text that can be cast to the type of the column; a timestamp has its zone."""
    end: str
    records_since: int | None = None
    """The time in milliseconds since which records can have rows of the range; None if that is unknown."""

    @property
    def condition(self) -> str:
        """The condition for its rows, as Spark SQL."""
        column = quote_name(self.column)
        return (
            f"({column} >= {_literal(self.type, self.start)} and {column} < {_literal(self.type, self.end)})"
        )

    @property
    def conditions(self) -> tuple[Expression, ...]:
        return tuple(
            Expression((Ref(self.column), f" {sign} {_literal(self.type, text)}"), BOOLEAN)
            for sign, text in ((">=", self.start), ("<", self.end))
        )


def range_of(column: Column, start: datetime, end: datetime, zone: tzinfo) -> TimeRange | None:
    """Return the range of a column from `start` until before `end`; None for days at other times."""
    bounds = (start.astimezone(zone), end.astimezone(zone))
    if column.type == DATE:
        if any(bound.replace(tzinfo=None).time() != datetime.min.time() for bound in bounds):
            return None
        texts = [bound.date().isoformat() for bound in bounds]
    elif column.type == TIMESTAMP:
        texts = [bound.astimezone(timezone.utc).isoformat() for bound in bounds]
    else:  # a local time
        texts = [bound.replace(tzinfo=None).isoformat() for bound in bounds]
    first, last = texts
    return TimeRange(column.name, column.type, first, last)


def in_range(output: Output, part: TimeRange, closed_until: int) -> Output:
    """Return the output with the rows of a range alone, and windows that end by a time in milliseconds.

    A batch has all windows, but a stream emits one only after the watermark has passed its end.
    """
    until = datetime.fromtimestamp(closed_until / 1000, timezone.utc).isoformat()
    copies: dict[int, Node] = {}
    for node in in_order((output.input,)):
        inputs = [copies[id(input_node)] for input_node in node.inputs]
        copy = node.with_inputs(*inputs) if inputs else node
        if isinstance(node, Aggregate) and node.emit == "on_close" and node.window is not None:
            ended = Expression((Ref(node.window.name), f".end <= {_literal(TIMESTAMP, until)}"), BOOLEAN)
            copy = Filter(input=copy, conditions=(ended,), models=node.models)
        copies[id(node)] = copy
    rows = Filter(input=copies[id(output.input)], conditions=part.conditions, models=(output.model,))
    return replace(output, input=rows)


def _literal(type_: Type, text: str) -> str:
    return f"{type_}'{text}'"
