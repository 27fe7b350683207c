"""Types and NULLs of `+ - * / % div` and `& | ^` in ANSI mode.

Spark: `DecimalPrecisionTypeCoercion`, `BinaryArithmeticWithDatetimeResolver`.
"""

from millstream.core.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    Decimal,
    Type,
)
from millstream.sql.coercion import TIMES, as_decimal, bounded_decimal, common_number, is_numeric
from millstream.sql.value import Value, nullable_as

Result = tuple[Type, bool]
"""The type, and whether it can be NULL."""


def arithmetic_type(operator: str, left: Value, right: Value) -> Result | None:
    """Return the type of a calculation; None if the types don't support it."""
    types = {left.type, right.type}
    if UNKNOWN in types:
        return UNKNOWN, True
    if INTERVAL in types or types & set(TIMES):
        return _with_times(operator, left, right)
    first, second = _number(left.type, right.type), _number(right.type, left.type)
    if first is None or second is None:
        return None
    nullable = nullable_as(left, first) or nullable_as(right, second) or operator in {"/", "%", "div"}
    if operator == "/" and left.type == NULL:
        return DOUBLE, True
    if operator == "div" and left.type == right.type == NULL:
        return BIGINT, True
    if operator == "div" and {first, second} & {FLOAT, DOUBLE}:
        return None
    if operator == "div":
        return BIGINT, True
    if (isinstance(first, Decimal) or isinstance(second, Decimal)) and not {first, second} & {FLOAT, DOUBLE}:
        first, second = decimal_of(left, first), decimal_of(right, second)
        nullable = nullable or nullable_as(left, first) or nullable_as(right, second)
        return _decimals(operator, first, second), nullable
    if operator == "/":
        return DOUBLE, True
    return common_number(first, second), nullable


def operand_type(operator: str, left: Value, right: Value) -> Type | None:
    """Return the type to which Spark casts a text next to another operand; None if there is none."""
    other = right.type if left.type == STRING else left.type
    if other in TIMES:
        return other if operator == "-" else None
    return _number(STRING, other)


def bitwise_type(left: Value, right: Value) -> Result | None:
    """Return the type of `& | ^`: the wider integer."""
    if UNKNOWN in {left.type, right.type}:
        return UNKNOWN, True
    if left.type == right.type == NULL:
        return INT, True
    first, second = _number(left.type, right.type), _number(right.type, left.type)
    if first not in INTEGERS or second not in INTEGERS:
        return None
    return common_number(first, second), nullable_as(left, first) or nullable_as(right, second)


def decimal_of(value: Value, type_: Type) -> Decimal:
    """Return an operand's type next to a decimal: a literal has exactly its digits."""
    if isinstance(value.literal, int) and not isinstance(value.literal, bool):
        return Decimal(len(str(abs(value.literal))), 0)
    return as_decimal(type_)


def _number(type_: Type, other: Type) -> Type | None:
    if type_ == NULL:
        return other if is_numeric(other) else DOUBLE if other == NULL else None
    if type_ != STRING:
        return type_ if is_numeric(type_) else None
    return BIGINT if other in INTEGERS else DOUBLE if is_numeric(other) else None


def _decimals(operator: str, left: Decimal, right: Decimal) -> Decimal:
    (p1, s1), (p2, s2) = (left.precision, left.scale), (right.precision, right.scale)
    match operator:
        case "+" | "-":
            scale = max(s1, s2)
            return bounded_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return bounded_decimal(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return bounded_decimal(p1 - s1 + s2 + scale, scale)
        case _:
            scale = max(s1, s2)
            return bounded_decimal(min(p1 - s1, p2 - s2) + scale, scale)


def _with_times(operator: str, left: Value, right: Value) -> Result | None:
    if operator == "div":
        return (BIGINT, True) if {left.type, right.type} <= {INTERVAL, NULL} else None
    if operator in {"*", "/"}:
        return _scaled(operator, left, right)
    if operator not in {"+", "-"}:
        return None
    if left.type == right.type == INTERVAL:
        return INTERVAL, left.nullable or right.nullable
    if left.type in TIMES:
        return _moved(left, right, operator)
    if right.type in TIMES and operator == "+":
        return _moved(right, left, operator)
    other = {left.type, right.type} - {INTERVAL, *TIMES}
    if other == {NULL} or (right.type in TIMES and other == {STRING}):
        return INTERVAL, True
    # A text next to an interval is cast to a time, and the result back to text.
    return (STRING, True) if other == {STRING} and (operator == "+" or left.type == STRING) else None


def _scaled(operator: str, left: Value, right: Value) -> Result | None:
    interval, other = (left, right) if left.type == INTERVAL else (right, left)
    if interval.type != INTERVAL or (operator == "/" and interval is not left):
        return None
    if not (is_numeric(other.type) or other.type in {STRING, NULL}):
        return None
    return INTERVAL, interval.nullable or other.nullable or other.type == STRING


def _moved(time: Value, by: Value, operator: str) -> Result | None:
    """Return the type of a date or time plus or minus a value; for an interval, its kind decides."""
    nullable = time.nullable or by.nullable
    if by.type == INTERVAL:
        if time.type != DATE:
            return time.type, nullable
        kinds: dict[object, Type] = {"days": DATE, "months": DATE, "time": TIMESTAMP}
        return kinds.get(by.literal, UNKNOWN), nullable
    if by.type in INTEGERS and time.type == DATE:
        return (DATE, nullable) if by.type != BIGINT else None
    if operator == "-" and (by.type in TIMES or by.type in {STRING, NULL}):
        return INTERVAL, nullable or by.type == STRING or {time.type, by.type} == {DATE, TIMESTAMP_NTZ}
    if by.type == NULL:
        return (TIMESTAMP if time.type == DATE else time.type), True
    return None


def interval_kind(operator: str, left: Value, right: Value) -> str | None:
    """Return the kind of interval of a calculation: days, time or months; None if unknown."""
    match operator, left.type, right.type:
        case "-", _, _ if left.type in TIMES or right.type in TIMES:
            return "time" if {left.type, right.type} & {TIMESTAMP, TIMESTAMP_NTZ} else "days"
        case "+" | "-", _, _:
            return str(left.literal) if left.literal == right.literal and left.literal else None
        case _:
            kind = left.literal if left.type == INTERVAL else right.literal
            return "time" if kind == "days" else kind
