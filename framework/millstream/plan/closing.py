"""Explains why the groups of an aggregate never close, and how to close them."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.core.expressions import Expression, quote_name
from millstream.core.types import TIMESTAMP
from millstream.plan.join_times import is_window
from millstream.plan.nodes import Aggregate, Item, Project, Repartition
from millstream.sql.call_pieces import call_arguments, pieces_text
from millstream.sql.trees import CallTree, ColumnTree, called_function, is_window_call, tree_of


def never_closes(node: Aggregate, times: Sequence[str]) -> tuple[str, str]:
    """Return the message and remedy for `emit='on_close'`; `times` are the columns with a watermark."""
    window = node.window
    if (selected := _selected(node)) is not None:
        message = (
            "emit='on_close' needs a window in GROUP BY itself; "
            f"{quote_name(selected.name)} is selected below it"
        )
        return message, f"write {selected.expression.text} in GROUP BY, and select `window`"
    if not times:
        return _no_watermark(node, window)
    time_columns = " or ".join(f"`{name}`" for name in times)
    closed = next((name for name in times if is_window(node.input.column(name).type)), None)
    if window is None and closed is not None:
        message = f"emit='on_close' needs {time_columns} as a group key: without it, a group never closes"
        return message, f"group by {quote_name(closed)} itself, or by window({quote_name(closed)}, '1 hour')"
    if window is None:
        message = f"emit='on_close' needs a window over {time_columns}: without one, a group never closes"
        return message, f"add window({quote_name(times[0])}, '1 hour') to GROUP BY, or remove emit='on_close'"
    over = window.expression.columns
    message = f"emit='on_close' needs a window over {time_columns}, the column with the watermark"
    message += ", not over an expression" if over & set(times) else f", not over {', '.join(sorted(over))}"
    return message, f"write {_over(window, times[0])}"


def _selected(node: Aggregate) -> Item | None:
    """Return a group key that a SELECT below computes as a window."""
    input_node = node.input.input if isinstance(node.input, Repartition) else node.input
    definitions = input_node.definitions if isinstance(input_node, Project) else {}
    for key in node.keys:
        definition = definitions.get(key.expression.column or "")
        if definition is not None and is_window_call(definition):
            return Item(key.expression.column or "", definition)
    return None


def _no_watermark(node: Aggregate, window: Item | None) -> tuple[str, str]:
    message = (
        "emit='on_close' needs a window over a column with a watermark, and these rows have no watermark"
    )
    candidates = [] if window is None else [c for c in (windowed_column(window.expression),) if c]
    candidates += [column.name for column in node.input.columns if column.type == TIMESTAMP]
    time_column = next((name for name in candidates if not name.startswith("_")), "")
    if not time_column:
        return message, "select the timestamp column that has the `watermark` of the source"
    added_window = (
        "" if window is not None else f" and add window({quote_name(time_column)}, '1 hour') to GROUP BY"
    )
    delay = f"WATERMARK {quote_name(time_column)} DELAY OF INTERVAL 10 SECONDS"
    return (
        message,
        f"write {delay} after the relation in FROM, or add a `watermark` to its source{added_window}",
    )


def windowed_column(window: Expression) -> str:
    """Return the column that a window is over, maybe in `window_time`; Spark has none over expressions."""
    match tree_of(window):
        case CallTree(name="window" | "session_window", arguments=(ColumnTree() as time, *_)):
            return time.name
        case CallTree(
            name="window" | "session_window",
            arguments=(CallTree(name="window_time", arguments=(ColumnTree() as time,)), *_),
        ):
            return time.name
    return ""


def _over(window: Item, time: str) -> str:
    """Return the window's SQL with another column."""
    call = window.expression
    _, *lengths = map(pieces_text, call_arguments(call))
    return f"{called_function(call)}({', '.join([quote_name(time), *lengths])})"
