"""The result types of functions that depend on their arguments, by the rules in `spark_functions`."""

from millstream.sql.arithmetic import arithmetic
from millstream.sql.coercion import MOST_DIGITS, as_decimal, bounded, common, common_number
from millstream.sql.nested_results import NESTED, Rule
from millstream.sql.value import Value
from millstream.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
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
    Array,
    Decimal,
    Field,
    Row,
    Type,
    parse_type,
)


def _whole(_: str, types: list[Type], literals: list[object]) -> Type:
    found = types[0]
    if len(literals) > 1:
        # Given a number of digits, Spark casts to decimals: 15 digits for a double, 7 for a float.
        widths: dict[Type, Decimal] = {
            DOUBLE: Decimal(30, 15),
            FLOAT: Decimal(14, 7),
            STRING: Decimal(30, 15),
        }
        return _rounded(_, [widths.get(found) or as_decimal(found)], literals)
    if isinstance(found, Decimal):
        return Decimal(min(MOST_DIGITS, found.precision - found.scale + 1), 0)
    return BIGINT


def _number(_: str, types: list[Type], __: list[object]) -> Type:
    return DOUBLE if types[0] in {STRING, NULL} else types[0]


def _uniform(_: str, types: list[Type], __: list[object]) -> Type:
    low, high = types[:2]
    if UNKNOWN in {low, high}:
        return UNKNOWN
    if isinstance(low, Decimal) and isinstance(high, Decimal):
        return max(low, high, key=lambda side: side.precision)
    for side in (low, high):
        if isinstance(side, Decimal):
            return side
    return common_number(low, high)


def _shifted(_: str, types: list[Type], __: list[object]) -> Type:
    return types[0] if types[0] in {BIGINT, UNKNOWN} else INT


def _fraction(_: str, types: list[Type], __: list[object]) -> Type:
    return FLOAT if types[0] == types[1] == FLOAT else DOUBLE


def _zeroed(_: str, types: list[Type], __: list[object]) -> Type:
    return common([types[0], INT]) or UNKNOWN


def _text(_: str, types: list[Type], __: list[object]) -> Type:
    return types[0] if types[0] in {BINARY, UNKNOWN} else STRING


def _cast(name: str, _: list[Type], __: list[object]) -> Type:
    return parse_type(name)


def _rounded(_: str, types: list[Type], literals: list[object]) -> Type:
    found = types[0]
    if found == STRING:
        return DOUBLE
    if not isinstance(found, Decimal):
        return found
    digits = literals[1] if len(literals) > 1 else 0
    if not isinstance(digits, int):
        return UNKNOWN
    whole = found.precision - found.scale + 1
    if digits < 0:
        return Decimal(min(MOST_DIGITS, max(whole, -digits + 1)), 0)
    scale = min(found.scale, digits)
    return Decimal(min(MOST_DIGITS, whole + scale), scale)


def _common(_: str, types: list[Type], __: list[object]) -> Type:
    return common(types) or UNKNOWN


def _branches(name: str, types: list[Type], literals: list[object]) -> Type:
    return _common(name, types[1:], literals[1:])


def _calculated(name: str, types: list[Type], literals: list[object]) -> Type:
    left, right = (
        Value(type_, True, literal=literal) for type_, literal in zip(types, literals, strict=True)
    )
    found = arithmetic(_OPERATORS.get(name, "%"), left, right)
    return found[0] if found else UNKNOWN


_OPERATORS = {"try_divide": "/", "try_add": "+", "try_subtract": "-", "try_multiply": "*"}


def _total(_: str, types: list[Type], __: list[object]) -> Type:
    found = types[0]
    if isinstance(found, Decimal):
        return (
            bounded(found.precision + 10, found.scale) if found.precision <= 28 else Decimal(38, found.scale)
        )
    if found in INTEGERS:
        return BIGINT
    return found if found in {INTERVAL, UNKNOWN} else DOUBLE


def _average(_: str, types: list[Type], __: list[object]) -> Type:
    found = types[0]
    if isinstance(found, Decimal):
        return Decimal(min(MOST_DIGITS, found.precision + 4), min(MOST_DIGITS, found.scale + 4))
    return found if found in {INTERVAL, UNKNOWN} else DOUBLE


def _concat(_: str, types: list[Type], __: list[object]) -> Type:
    if types and all(found == BINARY for found in types):
        return BINARY
    if types and isinstance(types[0], Array):
        return common(types) or UNKNOWN
    return STRING


def _decimal(_: str, __: list[Type], literals: list[object]) -> Type:
    format_ = literals[1]
    if not isinstance(format_, str):
        return UNKNOWN
    whole, _dot, fraction = format_.upper().replace("G", "").replace(",", "").replace("D", ".").partition(".")
    digits = sum(whole.count(d) for d in "09"), sum(fraction.count(d) for d in "09")
    return Decimal(sum(digits), digits[1]) if sum(digits) else UNKNOWN


def _decoded(_: str, types: list[Type], __: list[object]) -> Type:
    if len(types) == 2:
        return STRING
    results = types[2::2] + (types[-1:] if len(types) % 2 == 0 else [])
    return common(results) or UNKNOWN


def _datepart(_: str, __: list[Type], literals: list[object]) -> Type:
    part = str(literals[0] or "").lower()
    return Decimal(8, 6) if part in {"second", "s", "sec", "seconds", "secs"} else INT


def _dateadd(_: str, types: list[Type], __: list[object]) -> Type:
    if len(types) == 2:
        return DATE
    return types[2] if types[2] != DATE else TIMESTAMP


def _datediff(_: str, types: list[Type], __: list[object]) -> Type:
    return INT if len(types) == 2 else BIGINT


def _window(_: str, types: list[Type], __: list[object]) -> Type:
    found = TIMESTAMP_NTZ if types[0] == TIMESTAMP_NTZ else TIMESTAMP
    return Row((Field("start", found), Field("end", found)))


def _median(_: str, types: list[Type], __: list[object]) -> Type:
    return types[0] if types[0] == INTERVAL else DOUBLE


def _percentile(_: str, types: list[Type], __: list[object]) -> Type:
    found = INTERVAL if types[0] == INTERVAL else DOUBLE
    return Array(found) if isinstance(types[1], Array) else found


def _percentile_approx(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(types[0]) if isinstance(types[1], Array) else types[0]


RULES: dict[str, Rule] = {
    **NESTED,
    "whole": _whole,
    "number": _number,
    "uniform": _uniform,
    "shifted": _shifted,
    "fraction": _fraction,
    "zeroed": _zeroed,
    "text": _text,
    "cast": _cast,
    "rounded": _rounded,
    "common": _common,
    "branches": _branches,
    "remainder": _calculated,
    "tried": _calculated,
    "total": _total,
    "average": _average,
    "concat": _concat,
    "decimal": _decimal,
    "decoded": _decoded,
    "datepart": _datepart,
    "dateadd": _dateadd,
    "datediff": _datediff,
    "window": _window,
    "median": _median,
    "percentile": _percentile,
    "percentile_approx": _percentile_approx,
    "unknown": lambda _, __, ___: UNKNOWN,
}
_CONSTANT = {
    str(found): found
    for found in (BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, INT, INTERVAL, STRING, TIMESTAMP, NULL)
}


def result_type(rule: str, name: str, types: list[Type], literals: list[object]) -> Type:
    """Return the type of a call by the rule that its signature names."""
    if constant := _CONSTANT.get(rule):
        return constant
    if rule.startswith("$"):
        index = int(rule[1:]) - 1
        return types[index] if index < len(types) else UNKNOWN
    if found := RULES.get(rule):
        return found(name, types, literals)
    return parse_type(rule)
