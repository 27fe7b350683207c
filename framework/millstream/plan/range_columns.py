"""Finds the column by which a range of a table's rows is computed again, and what prevents that."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.types import DATE, TIMESTAMP, TIMESTAMP_NTZ
from millstream.outputs.partitions import parse_partition
from millstream.plan.nodes import Aggregate, Column, Dedupe, Join, Node, Opaque, Output, Project
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import traits_of
from millstream.sql.trees import ColumnTree, FieldOf, called_function, tree_of


def range_column(output: Output) -> Column | None:
    """Return the time of a table's rows: `order_by`, the start of a window, an event time, or a partition."""
    table = output.materialization.table
    assert table is not None, f"{output.model} is not a table"
    names = [table.order_by] if table.order_by else []
    names += [column.name for column in output.columns if _window_started(output, column.name)]
    names += [time for time, _ in traits_of(output.input).watermarks]
    names += [parse_partition(text).column for text in table.partition_by]
    columns = (output.by_name.get(name.lower()) for name in names)
    return next(
        (
            column
            for column in columns
            if column is not None and column.type in {TIMESTAMP, TIMESTAMP_NTZ, DATE}
        ),
        None,
    )


def follows_events(output: Output, column: str) -> bool:
    """Whether a row's time is that of the event in its record, so that the record was written later."""
    traits = traits_of(output.input)
    is_event_time = column in [time for time, _ in traits.watermarks] or _window_started(output, column)
    return is_event_time and not any(
        isinstance(node, Join) and traits_of(node.inputs[1]).mode != "static"
        for node in in_order((output.input,))
    )


def unrepeatable_steps(output: Output, time: str) -> Iterator[Node]:
    """Yield the steps whose rows in a range depend on which rows came before others, or are not final.

    A window that has closed has the same rows in a batch of all records; but next to other steps with state,
    Spark closes windows later than its watermark says (PropagateWatermarkSimulator). Of rows that a dedupe
    compares, the first one stays: which one that is, and so its range, is only known if all have its time.
    """
    streamed = [node for node in in_order((output.input,)) if traits_of(node).mode != "static"]
    alone = sum(node.stateful for node in streamed) == 1
    for node in streamed:
        match node:
            case Aggregate(emit="on_close") if _has_window(node) and alone:
                pass
            case Dedupe(by_position=True) | Join(kind="inner"):
                pass
            case Dedupe() if time in _names_at(output, node):
                pass
            case _ if node.stateful or isinstance(node, Opaque):
                yield node


def _has_window(node: Aggregate) -> bool:
    return node.window is not None and called_function(node.window.expression) == "window"


def _names_at(output: Output, node: Dedupe) -> list[str]:
    """Return the columns of an output that are keys of a dedupe below it."""
    keys = {key.lower() for key in node.keys}
    return [
        column.name
        for column in output.columns
        if any(below is node and name.lower() in keys for below, name in _origins(output, column.name))
    ]


def _window_started(output: Output, column: str) -> bool:
    """Whether a column is the start of a window that has closed."""
    for node, name in _origins(output, column):
        match node:
            case Project():
                match tree_of(node.definitions[node.column(name).name]):
                    case FieldOf(base=ColumnTree() as window, name=field) if field.lower() == "start":
                        return _is_window(node.input, window.name)
    return False


def _is_window(node: Node, column: str) -> bool:
    return any(
        isinstance(below, Aggregate)
        and below.emit == "on_close"
        and below.window is not None
        and below.window.name.lower() == name.lower()
        for below, name in _origins(node, column)
    )


def _origins(node: Node, column: str) -> Iterator[tuple[Node, str]]:
    """Yield each node that a column passes, with its name there."""
    origin: tuple[Node, str] | None = (node, column)
    while origin is not None:
        yield origin
        below, name = origin
        origin = below.origin(name)
        if isinstance(below, Project):
            passed = below.definitions[below.column(name).name].column
            origin = (below.input, passed) if passed is not None else None
