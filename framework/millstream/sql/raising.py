"""Whether an expression can fail on a row in ANSI mode; if uncertain, the answer is yes."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.sql.casts import cast_raises
from millstream.sql.coercion import MOST_DIGITS
from millstream.sql.spark_functions import Signature
from millstream.sql.value import Value
from millstream.types import DOUBLE, FLOAT, INTEGERS, INTERVAL, STRING, UNKNOWN, Decimal, Type

_CASTS_TEXT = frozenset(("untexted", "timed", "cast", "narrowed"))
"""Nullability rules of functions that don't take text."""
_OF_NUMBERS = frozenset(
    (
        "number", "whole", "rounded", "double", "remainder", "tried", "fraction", "shifted", "zeroed",
        "datepart", "dateadd", "datediff", "total", "average", "median", "percentile", "percentile_approx",
    )
)  # fmt: skip
_NO_TEXT = frozenset(("factorial", "width_bucket", "date_trunc", "trunc", "window", "session_window"))
_PATTERNS = frozenset(("rlike", "regexp", "regexp_like", "regexp_count", "regexp_instr", "regexp_replace",
                       "regexp_substr", "split", "like", "ilike"))  # fmt: skip
_COMMON = frozenset(("common", "array", "branches"))


def implicit_cast_raises(values: Iterable[Value], wanted: Type) -> bool:
    """Return whether an implicit cast can fail, such as that of a text compared with a number."""
    return any(value.literal is None and cast_raises(value.type, wanted) for value in values)


def arithmetic_raises(sign: str, left: Value, right: Value, found: Type) -> bool:
    if left.literal is not None and right.literal is not None and found != INTERVAL:
        return False  # it fails on all rows or none, and Spark folds it before it reads any
    if {left.type, right.type} & {STRING, UNKNOWN}:
        return True
    safe_divisor = _is_number(right) and float(right.literal) not in {0, -1}
    match found:
        case Decimal():
            return found.precision >= MOST_DIGITS or (sign not in "+-*" and not safe_divisor)
        case _ if found in {FLOAT, DOUBLE}:
            return sign not in "+-*" and not safe_divisor
        case _ if found in INTEGERS:
            return sign not in "&|^" and not (sign in {"%", "div"} and safe_divisor)
        case _:
            return True


def _is_number(value: Value) -> bool:
    return value.literal is not None and (
        value.type in {*INTEGERS, FLOAT, DOUBLE} or isinstance(value.type, Decimal)
    )


def call_raises(signature: Signature, values: list[Value], found: Type) -> bool:
    """Return whether a call of a Spark function can fail."""
    if signature.raises or signature.result == "unknown":
        return True
    if signature.result == "cast":
        return implicit_cast_raises(values, found)
    if signature.name == "if" and values[0].type in {STRING, UNKNOWN}:
        return True
    if signature.result in _COMMON:
        wanted = getattr(found, "element", found) if signature.result == "array" else found
        return implicit_cast_raises(values[1:] if signature.result == "branches" else values, wanted)
    if signature.name in _PATTERNS:
        return len(values) > 1 and values[1].literal is None
    takes_no_text = (
        signature.nullable in _CASTS_TEXT or signature.result in _OF_NUMBERS or signature.name in _NO_TEXT
    )
    return takes_no_text and any(
        value.type in {STRING, UNKNOWN} and value.literal is None for value in values
    )
