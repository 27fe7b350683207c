"""Checks calls with OVER as Spark's analyzer does: what can be called, the order, the frame and the types."""

from __future__ import annotations

from msgspec import Struct
from sqlglot import exp

from millstream.core.types import (
    DATE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    Type,
)  # fmt: skip
from millstream.sql.call_clauses import report_clause
from millstream.sql.coercion import is_numeric
from millstream.sql.expressions import Evaluator
from millstream.sql.names import call_of, function_name, unmodified_call
from millstream.sql.ordering import check_ordered
from millstream.sql.signatures import load_signatures
from millstream.sql.value import Value

_NUMBERS = frozenset(("row_number", "rank", "dense_rank", "percent_rank", "ntile"))
"""Functions whose frame is all rows up to the current one, counted by rows."""
_RANKS = _NUMBERS | {"cume_dist"}
_SHIFTS = frozenset(("lag", "lead"))
_BY_PLACE = _SHIFTS | {
    "row_number", "ntile", "nth_value", "first", "first_value", "last", "last_value", "any_value",
    "array_agg", "collect_list",
}  # fmt: skip
"""Functions whose value depends on the order of rows that ORDER BY leaves equal."""
_UP_TO_HERE = ("UNBOUNDED", "PRECEDING", "CURRENT ROW", "")


class WindowDefinition(Struct):
    """The window of a call: `over (…)`, or the one that WINDOW names."""

    partition: list[exp.Expr]
    order: list[exp.Expr]
    frame: exp.WindowSpec | None


def window_definition(evaluator: Evaluator, node: exp.Window) -> WindowDefinition:
    """Return the window of a call; report a name that no WINDOW defines."""
    source: exp.Expr = node
    if (name := node.args.get("alias")) is not None:
        select = node.find_ancestor(exp.Select)
        windows = (select.args.get("windows") if select is not None else None) or []
        named = [window for window in windows if window.name.lower() == name.name.lower()]
        if not named:
            remedy = f"define it after FROM: window {name.name} as (…)"
            report_clause(evaluator, name, f"no WINDOW defines '{name.name}'", remedy)
        elif len(named) > 1:
            report_clause(
                evaluator, named[1].this, f"WINDOW defines '{name.name}' twice", "rename one of them"
            )
        elif any(node.args.get(part) for part in ("partition_by", "order", "spec")):
            report_clause(
                evaluator, name, f"a window can't extend '{name.name}'", "write the whole window in OVER (…)"
            )
        source = named[0] if named else node
    order = source.args.get("order")
    parts = source.args.get("partition_by") or []
    return WindowDefinition(parts, list(order.expressions) if order else [], source.args.get("spec"))


def breaks_ties(node: exp.Window, window: WindowDefinition) -> bool:
    """Return whether the value of a call depends on which of two rows with equal order comes first."""
    by_rows = window.frame is not None and str(window.frame.args.get("kind")).upper() == "ROWS"
    return bool(window.order) and (by_rows or function_name(call_of(node.this)) in _BY_PLACE)


def check_over(
    evaluator: Evaluator,
    node: exp.Window,
    window: WindowDefinition,
    partition: list[Value],
    order: list[Value],
) -> None:
    """Report a call that Spark can't compute over its window."""
    call = call_of(node.this)
    name = function_name(call)
    for value, part in zip(partition, window.partition, strict=True):
        check_ordered(evaluator, part, value.type, "PARTITION BY")
    for value, part in zip(order, window.order, strict=True):
        check_ordered(evaluator, part, value.type, "ORDER BY")
    _check_call(evaluator, node, call, name)
    where = {"having": "HAVING", "order": "ORDER BY"}.get(evaluator.clause, "")
    if evaluator.no_aggregates:
        where = "an aggregate" if evaluator.no_aggregates == "another aggregate" else evaluator.no_aggregates
    if where:
        remedy = "compute it in a subquery, and use its column"
        if where in {"WHERE", "HAVING"}:
            remedy = "filter with QUALIFY"
        report_clause(evaluator, call, f"{name}() over a window is not allowed in {where}", remedy)
    if name in _RANKS | _SHIFTS | {"nth_value"} and not window.order:
        report_clause(evaluator, call, f"{name}() needs an order of the rows", "add ORDER BY to OVER (…)")
    elif (name == "median" or _is_within_group(node.this)) and (window.order or window.frame):
        report_clause(
            evaluator, call, f"{name}() can't have an order or a frame in OVER", "only write PARTITION BY"
        )
    elif window.frame is not None:
        _check_frame(evaluator, call, name, window, order)


def _check_call(evaluator: Evaluator, node: exp.Window, call: exp.Expr, name: str) -> None:
    signature = load_signatures().get(name)
    if signature is not None and not (signature.aggregate or signature.window):
        message = f"{name}() is neither an aggregate nor a window function, so it can't have OVER"
        report_clause(evaluator, call, message, "remove OVER (…)")
    elif not isinstance(call, exp.Anonymous):
        report_clause(
            evaluator, node, "OVER follows a call of an aggregate or window function", "remove OVER (…)"
        )
    elif any(isinstance(argument, exp.Distinct) for argument in call.expressions):
        remedy = "count values in a subquery with GROUP BY, or use size(collect_set(…) over (…))"
        report_clause(evaluator, call, f"{name}(distinct …) can't have OVER", remedy)


def _check_frame(
    evaluator: Evaluator, call: exp.Expr, name: str, window: WindowDefinition, order: list[Value]
) -> None:
    frame = window.frame
    assert frame is not None
    by_rows = str(frame.args.get("kind")).upper() == "ROWS"
    if name in _SHIFTS:
        report_clause(evaluator, call, f"{name}() can't have a frame", "remove ROWS or RANGE from OVER (…)")
    elif name in _RANKS and (by_rows != (name in _NUMBERS) or _bounds(frame) != _UP_TO_HERE):
        report_clause(
            evaluator, call, f"{name}() can't have this frame", "remove ROWS or RANGE from OVER (…)"
        )
    elif _is_reversed(frame):
        report_clause(evaluator, call, "the frame ends before it begins", "write the earlier bound first")
    else:
        ends = (frame.args.get("start"), frame.args.get("end"))
        bounds = [bound for bound in ends if isinstance(bound, exp.Expr)]
        units = {bound.args["unit"].sql() for bound in bounds if isinstance(bound, exp.Interval)}
        if len(units) > 1:
            report_clause(
                evaluator, call, "the bounds of a frame have different units", "write both in the same unit"
            )
        for bound in bounds:
            if by_rows:
                _check_rows(evaluator, call, bound)
            else:
                _check_range(evaluator, call, bound, window, order)


def _bounds(frame: exp.WindowSpec) -> tuple[str, ...]:
    """Return both bounds in upper case; those that are numbers as they are written."""
    parts = []
    for bound, side in (("start", "start_side"), ("end", "end_side")):
        value = frame.args.get(bound) or "CURRENT ROW"
        parts += [
            value.sql() if isinstance(value, exp.Expr) else str(value).upper(),
            str(frame.args.get(side) or "").upper(),
        ]
    return tuple(parts)


def _is_reversed(frame: exp.WindowSpec) -> bool:
    start, start_side, end, end_side = _bounds(frame)
    if (start, start_side) == ("UNBOUNDED", "FOLLOWING") or (end, end_side) == ("UNBOUNDED", "PRECEDING"):
        return True
    first, last = (
        _offset(frame.args.get(bound), frame.args.get(f"{bound}_side")) for bound in ("start", "end")
    )
    return first is not None and last is not None and first > last


def _offset(bound: object, side: object) -> int | None:
    if not isinstance(bound, exp.Literal) or bound.is_string or not bound.name.isdigit():
        return None
    return -int(bound.name) if str(side).upper() == "PRECEDING" else int(bound.name)


def _check_rows(evaluator: Evaluator, call: exp.Expr, bound: exp.Expr) -> None:
    value = evaluator.value(bound)
    if bound.find(exp.Column) is not None or value.type not in {INT, UNKNOWN}:
        report_clause(
            evaluator,
            call,
            f"a frame of ROWS needs whole numbers, not {bound.sql('spark')}",
            "write an integer, such as 1 PRECEDING",
        )


def _check_range(
    evaluator: Evaluator, call: exp.Expr, bound: exp.Expr, window: WindowDefinition, order: list[Value]
) -> None:
    if len(window.order) != 1:
        count = "several columns" if window.order else "no column"
        remedy = "order by one number, date or timestamp, or use ROWS"
        report_clause(
            evaluator,
            call,
            f"a frame of RANGE with a distance needs one column in ORDER BY, not {count}",
            remedy,
        )
        return
    value, ordered = evaluator.value(bound), order[0].type
    if bound.find(exp.Column) is not None:
        report_clause(
            evaluator, call, "the distance of a frame must be a literal", "write a number or an INTERVAL"
        )
    elif not _fits(value.type, ordered, value.literal):
        remedy = "use a distance of the type of ORDER BY, or ROWS"
        report_clause(evaluator, call, f"a frame of RANGE can't add {value.type} to {ordered}", remedy)


def _fits(distance: Type, ordered: Type, unit: object) -> bool:
    if UNKNOWN in {distance, ordered}:
        return True
    if is_numeric(ordered) or ordered == INTERVAL:
        return is_numeric(distance) or distance in {STRING, NULL, INTERVAL}
    if ordered == DATE:
        return distance == INT or (distance == INTERVAL and unit != "time")
    return ordered in {TIMESTAMP, TIMESTAMP_NTZ} and distance == INTERVAL


def _is_within_group(node: exp.Expr) -> bool:
    return isinstance(unmodified_call(node), exp.WithinGroup)
