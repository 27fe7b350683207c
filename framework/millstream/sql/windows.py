"""Checks the arguments of `window` and `session_window`, which Spark's TimeWindow checks at run time."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import DATE, INTERVAL, NULL, STRING, TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, Row
from millstream.sql.durations import microseconds
from millstream.sql.expressions import Expressions
from millstream.sql.value import Value

_TIMES = (TIMESTAMP, TIMESTAMP_NTZ, DATE, STRING, UNKNOWN, NULL)
_WRITE = "write a duration such as '5 minutes' or '1 hour 30 minutes'"


def check_window(walk: Expressions, node: exp.Anonymous, name: str, values: list[Value]) -> None:
    first = values[0].type
    if first not in _TIMES and not (name == "window" and isinstance(first, Row)):
        message = f"{name}() needs a timestamp, not a {first}"
        remedy = "convert it, for example with timestamp_millis(…) from milliseconds"
        walk.findings.report(node.expressions[0], "MS407", message, remedy)
    if name == "session_window":
        gap = values[1]
        if isinstance(gap.literal, str) or gap.type != STRING:
            _length(walk, node, gap)
        return
    lengths = [_length(walk, node, value, least=0 if i == 2 else 1) for i, value in enumerate(values[1:])]
    if any(length is None for length in lengths):
        return
    duration, slide, start = (*lengths, *lengths[:1])[:2] + ((lengths[2],) if len(lengths) > 2 else (0,))
    assert duration is not None
    assert slide is not None
    assert start is not None
    if slide > duration:
        _wrong(walk, node, "a window's slide can't be longer than the window", "write a shorter slide")
    elif abs(start) >= slide:
        _wrong(walk, node, "a window's start must be shorter than its slide", "write a shorter start")


def _length(walk: Expressions, node: exp.Anonymous, value: Value, *, least: int = 1) -> int | None:
    """Return the length of a duration in microseconds; report an invalid one."""
    literal = None if value.type == INTERVAL else value.literal
    if isinstance(literal, bool) or not isinstance(literal, int | str):
        _wrong(walk, node, "the duration of a window must be a string literal", _WRITE)
        return None
    length = microseconds(literal) if isinstance(literal, str) else literal
    if isinstance(length, str):
        _wrong(walk, node, length, _WRITE, str(literal))
        return None
    if least and length < least:
        _wrong(walk, node, f"a window can't have a length of '{literal}'", _WRITE, str(literal))
        return None
    return length


def _wrong(walk: Expressions, node: exp.Anonymous, message: str, remedy: str, text: str = "") -> None:
    """Report an error at the text of an argument, for which the tree has no position."""
    start = walk.findings.sql.find(f"'{text}'", node.meta.get("start", 0)) if text else -1
    if start < 0:
        walk.findings.report(node, "MS434", message, remedy)
    else:
        walk.findings.report_at(start, start + len(text) + 2, "MS434", message, remedy)
