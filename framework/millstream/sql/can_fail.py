"""Whether an expression can fail on a row in ANSI mode; if uncertain, the answer is yes."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.core.types import DOUBLE, FLOAT, INTEGERS, INTERVAL, STRING, UNKNOWN, Decimal, Type
from millstream.sql.argument_types import cast_to
from millstream.sql.casts import cast_raises
from millstream.sql.changing_functions import is_special_time
from millstream.sql.coercion import MOST_DIGITS
from millstream.sql.signatures import FunctionSignature
from millstream.sql.value import Value

_PATTERNS = frozenset(("rlike", "regexp", "regexp_like", "regexp_count", "regexp_instr", "regexp_replace",
                       "regexp_substr", "split", "like", "ilike"))  # fmt: skip
_COMMON = frozenset(("common", "array", "branches"))


def implicit_cast_raises(values: Iterable[Value], target: Type) -> bool:
    """Return whether an implicit cast can fail, such as that of a text compared with a number."""
    return any(_is_unknown(value) and cast_raises(value.type, target) for value in values)


def _is_unknown(value: Value) -> bool:
    """Return whether a cast may fail on some rows; what 'now' means, is only known at run time."""
    return value.literal is None or is_special_time(value.literal)


def arithmetic_raises(sign: str, left: Value, right: Value, type_: Type) -> bool:
    if left.literal is not None and right.literal is not None and type_ != INTERVAL:
        return False  # it fails on all rows or none, and Spark folds it before it reads any
    if {left.type, right.type} & {STRING, UNKNOWN}:
        return True
    safe_divisor = _is_number(right) and float(right.literal) not in {0, -1}
    match type_:
        case Decimal():
            return type_.precision >= MOST_DIGITS or (sign not in "+-*" and not safe_divisor)
        case _ if type_ in {FLOAT, DOUBLE}:
            return sign not in "+-*" and not safe_divisor
        case _ if type_ in INTEGERS:
            return sign not in "&|^" and not (sign in {"%", "div"} and safe_divisor)
        case _:
            return True


def _is_number(value: Value) -> bool:
    return value.literal is not None and (
        value.type in {*INTEGERS, FLOAT, DOUBLE} or isinstance(value.type, Decimal)
    )


def call_raises(signature: FunctionSignature, values: list[Value], type_: Type) -> bool:
    """Return whether a call of a Spark function can fail."""
    if signature.raises or signature.result == "unknown":
        return True
    if signature.result == "cast":
        return implicit_cast_raises(values, type_)
    if signature.name == "if" and values[0].type in {STRING, UNKNOWN}:
        return True
    if signature.result in _COMMON:
        target = getattr(type_, "element", type_) if signature.result == "array" else type_
        return implicit_cast_raises(values[1:] if signature.result == "branches" else values, target)
    if signature.name in _PATTERNS:
        return (len(values) > 1 and values[1].literal is None) or _casts_raise(signature, values)
    if signature.nullable == "cast" and _is_unknown(values[0]) and values[0].type in {STRING, UNKNOWN}:
        return True
    return _casts_raise(signature, values)


def _casts_raise(signature: FunctionSignature, values: list[Value]) -> bool:
    """Return whether a cast that Spark adds to an argument can fail, such as that of a text to a number."""
    form = signature.takes(len(values)) or ()
    return any(
        _is_unknown(value) and cast_raises(value.type, target)
        for parameter, value in zip(form, values, strict=False)
        for target in [cast_to(parameter.word, value.type)]
        if target != value.type
    )
