"""What this Python says when an operation fails: the words differ between versions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

_DIVISIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "divide": operator.truediv, "floorDivide": operator.floordiv, "modulo": operator.mod,
}  # fmt: skip

_OF_NONE: Mapping[str, Callable[[Any], Any]] = {
    "subscript": lambda none: none[1:], "builtins.len": len, "builtins.round": round,
    "builtins.float": float, "builtins.int": int, "digits": lambda none: round(none, 2),
    "iter": iter, "format": lambda none: format(none, ".2f"), "range": range,
    "in": lambda none: "a" in none, "in str": "a".__contains__,
    "index of str": lambda none: "a"[none], "index of tuple": lambda none: (1,)[none],
    "index of list": lambda none: [1][none],
    **{f"math.{function.__name__}": function for function in (
        math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.fabs
    )},
}  # fmt: skip


@cache
def of_none(name: str) -> tuple[str, str]:
    """Return the type and the message of the error that an operation on None raises."""
    return _type_error(lambda: _OF_NONE[name](None))


@cache
def of_empty(name: str) -> tuple[str, str]:
    """Return the type and the message of the error that `min` or `max` of nothing raises."""
    try:
        {"min": min, "max": max}[name](())
    except ValueError as error:
        return "ValueError", str(error)
    raise AssertionError("nothing is least")


@cache
def of_none_argument(method: str, index: int, count: int) -> tuple[str, str]:
    """Return the same for an argument of a method of str, of which the others are texts."""
    arguments = [None if position == index else "a" for position in range(count)]
    return _type_error(lambda: getattr("a", method)(*arguments))


def _type_error(call: Callable[[], Any]) -> tuple[str, str]:
    try:
        call()
    except TypeError as error:
        return "TypeError", str(error)
    raise AssertionError("None can be used here")


@cache
def division_messages(name: str) -> tuple[str, ...]:
    """Return the messages for integers and for floats; none, if an operator does not divide."""
    if name not in _DIVISIONS:
        return ()
    return _of(_DIVISIONS[name], 1), _of(_DIVISIONS[name], 1.0)


def _of(divide: Callable[[Any, Any], Any], number: float) -> str:
    try:
        divide(number, type(number)(0))
    except ZeroDivisionError as error:
        return str(error)
    raise AssertionError("a division by zero raises")
