"""Dates and times: their parts. Times are in UTC, as those that a function gets."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from millstream.native.expressions import ExpressionTranslator
from millstream.native.values import DATE, DATETIME, FLOAT, NONE, JavaValue, Kinds, ObstacleError

_OF_DATES: Mapping[str, str] = {"year": "getYear", "month": "getMonthValue", "day": "getDayOfMonth"}
_OF_TIMES: Mapping[str, str] = {**_OF_DATES, "hour": "getHour", "minute": "getMinute", "second": "getSecond"}


def time_part(translator: ExpressionTranslator, node: ast.Attribute, base: JavaValue, name: str) -> JavaValue:
    """Translate an attribute of a date or a time."""
    code, kinds = _present(translator, node, base, name)
    getter = (_OF_DATES if kinds == DATE else _OF_TIMES).get(name)
    if getter is None:
        raise ObstacleError(node, f"`.{name}` of a date or a time")
    return translator.code.integer(f"(long) {code}.{getter}()")


def time_method(
    translator: ExpressionTranslator, node: ast.Call, receiver: JavaValue, name: str
) -> JavaValue:
    code, kinds = _present(translator, node, receiver, name)
    if node.args or node.keywords:
        raise ObstacleError(node, f"arguments of `.{name}()`")
    match name:
        case "weekday":
            return translator.code.integer(f"{code}.getDayOfWeek().getValue() - 1L")
        case "isoweekday":
            return translator.code.integer(f"(long) {code}.getDayOfWeek().getValue()")
        case "timestamp" if kinds == DATETIME:
            return translator.code.temporary(FLOAT, f"PythonTimes.timestamp({code})")
        case "date" if kinds == DATETIME:
            return translator.code.temporary(DATE, f"{code}.toLocalDate()")
    raise ObstacleError(node, f"`.{name}()` of a date or a time")


def _present(
    translator: ExpressionTranslator, node: ast.Attribute | ast.Call, value: JavaValue, name: str
) -> tuple[str, Kinds]:
    """Return the Java expression of a date or a time, and which of them it is."""
    if node.lineno != node.end_lineno:
        raise ObstacleError(node, f"`.{name}` of a date or a time, over several lines")
    value = translator.present(node, value, "AttributeError", f"'NoneType' object has no attribute '{name}'")
    java = {DATE: "LocalDate", DATETIME: "LocalDateTime"}.get(value.kinds - NONE)
    if java is None:
        raise ObstacleError(node, f"`.{name}` of what may be a date or something else")
    return f"((java.time.{java}) {value.code})", value.kinds
