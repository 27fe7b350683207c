"""The traits of an aggregate, or why it can't be maintained over a stream."""

from __future__ import annotations

from millstream.core.expressions import Expression, Ref
from millstream.plan.closing import never_closes, windowed_column
from millstream.plan.keys import interval_micros
from millstream.plan.nodes import Aggregate, Item
from millstream.plan.traits.values import NotIncrementalError, Spacing, Traits, require_append
from millstream.sql.call_pieces import call_arguments, pieces_text
from millstream.sql.trees import called_function, is_distinct, window_lengths


def aggregate_traits(node: Aggregate, input_traits: Traits) -> Traits:
    require_append("an aggregate", _aggregate_remedy(input_traits), input_traits)
    if input_traits.mode == "static":
        return Traits("static")
    for measure in node.measures:
        if is_distinct(measure.call):
            message = "Spark can't compute a DISTINCT aggregate over a stream"
            remedy = "aggregate a subquery with SELECT DISTINCT"
            if called_function(measure.call) == "count" and len(counted := call_arguments(measure.call)) == 1:
                exact, roughly = (
                    f"{call}({pieces_text(counted[0])})" for call in ("collect_set", "approx_count_distinct")
                )
                remedy = f"use size({exact}) for an exact count, or {roughly}, which needs little memory"
            raise NotIncrementalError("MS524", message, remedy)
    window = node.window
    times: tuple[tuple[str, str], ...] = ()
    if window is not None:
        time = windowed_column(window.expression).lower()
        times = tuple((window.name, delay) for name, delay in input_traits.watermarks if name.lower() == time)
    else:
        delays = {name.lower(): delay for name, delay in input_traits.watermarks}
        columns = ((key.name, key.expression.column) for key in node.keys)
        times = tuple((name, delays[of.lower()]) for name, of in columns if of and of.lower() in delays)
    keys = tuple(key.name for key in node.keys)
    _check_emit(node, times, input_traits)
    if node.emit == "on_close":
        return Traits("append", (), keys, times)
    # A constant, such as 1 in `group by 1, kind`, is the same for all rows.
    identifying = tuple(key.name for key in node.keys if not _is_constant(key.expression))
    return Traits("upsert", identifying, keys, times, spacings=() if window is None else _windows(window))


def _is_constant(key: Expression) -> bool:
    return key.deterministic and not any(isinstance(piece, Ref) for piece in key.pieces)


def _windows(window: Item) -> tuple[Spacing, ...]:
    """Return the distance between the starts of windows: their slide, or else their length."""
    if called_function(window.expression) != "window":
        return ()
    gaps = [interval_micros(text) for text in window_lengths(window.expression)]
    return (Spacing(window.name, gaps[-1] or 1 if gaps else 1, window=True),)


def _aggregate_remedy(input_traits: Traits) -> str:
    if input_traits.watermarks and any(spacing.window for spacing in input_traits.spacings):
        return "move the windows to a separate model with config(emit='on_close'): its rows are final"
    return "read events instead of the result of another aggregate or a topic with `table: true`"


def _check_emit(node: Aggregate, times: tuple[tuple[str, str], ...], input_traits: Traits) -> None:
    if node.emit == "on_close" and not times:
        raise NotIncrementalError("MS512", *never_closes(node, [name for name, _ in input_traits.watermarks]))
    is_session = node.window is not None and called_function(node.window.expression) == "session_window"
    if node.emit == "on_change" and is_session:
        message = "a session has no fixed bounds until it closes, so Spark can't emit it earlier"
        raise NotIncrementalError("MS512", message, "set config(emit='on_close')")
