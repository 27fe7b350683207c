"""The result types of functions that depend on their arguments, by the rules in `spark_functions`."""

from collections.abc import Callable

from millstream.core.types import (
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
    TINYINT,
    UNKNOWN,
    VARIANT,
    Array,
    Decimal,
    Field,
    Map,
    Row,
    Type,
    parse_type,
)
from millstream.sql.argument_values import part_of, schema_of
from millstream.sql.arithmetic import arithmetic_type
from millstream.sql.coercion import (
    MOST_DIGITS,
    as_decimal,
    bounded_decimal,
    common_number,
    common_type_of,
    tightest_type,
)
from millstream.sql.value import Value

Types = list[Type]
Literals = list[object]
"""The values of arguments that are literals; None for others."""


def result_type(rule: str, name: str, types: Types, literals: Literals) -> Type:
    """Return the type of a call by the rule that its signature names."""
    if constant := _CONSTANT.get(rule):
        return constant
    if rule.startswith("$"):
        index = int(rule[1:]) - 1
        return types[index] if index < len(types) else UNKNOWN
    if by_types := _BY_TYPES.get(rule):
        return by_types(types)
    if rule in _PARTS:
        return _parts(rule, types)
    if by_literals := _BY_LITERALS.get(rule):
        return by_literals(types, literals)
    if rule in {"remainder", "tried"}:
        return _calculated(name, types, literals)
    return parse_type(name if rule == "cast" else rule)


def _calculated(name: str, types: Types, literals: Literals) -> Type:
    operator = {"try_divide": "/", "try_add": "+", "try_subtract": "-", "try_multiply": "*"}.get(name, "%")
    left, right = (
        Value(type_, True, literal=literal) for type_, literal in zip(types, literals, strict=True)
    )
    calculated = arithmetic_type(operator, left, right)
    return calculated[0] if calculated else UNKNOWN


# -- rules that only read types


def _common(types: Types) -> Type:
    return common_type_of(types) or UNKNOWN


def _uniform(types: Types) -> Type:
    low, high = types[:2]
    if UNKNOWN in {low, high}:
        return UNKNOWN
    if {low, high} & {FLOAT, DOUBLE, NULL}:
        return FLOAT if {low, high} == {FLOAT} else DOUBLE
    if isinstance(low, Decimal) and isinstance(high, Decimal):
        return max(low, high, key=lambda side: side.precision)
    for side in (low, high):
        if isinstance(side, Decimal):
            return side
    return common_number(low, high)


def _total(types: Types) -> Type:
    type_ = types[0]
    if isinstance(type_, Decimal):
        return (
            bounded_decimal(type_.precision + 10, type_.scale)
            if type_.precision <= 28
            else Decimal(38, type_.scale)
        )
    if type_ in INTEGERS:
        return BIGINT
    return type_ if type_ in {INTERVAL, UNKNOWN} else DOUBLE


def _average(types: Types) -> Type:
    type_ = types[0]
    if isinstance(type_, Decimal):
        return Decimal(min(MOST_DIGITS, type_.precision + 4), min(MOST_DIGITS, type_.scale + 4))
    return type_ if type_ in {INTERVAL, UNKNOWN} else DOUBLE


def _concat(types: Types) -> Type:
    if types and all(type_ == BINARY for type_ in types):
        return BINARY
    return _common(types) if types and isinstance(types[0], Array) else STRING


def _decoded(types: Types) -> Type:
    if len(types) == 2:
        return STRING
    # Without a default, Spark adds a NULL of type string.
    return _common(types[2::2] + (types[-1:] if len(types) % 2 == 0 else [STRING]))


def _dateadd(types: Types) -> Type:
    if len(types) == 2:
        return DATE
    return types[2] if types[2] != DATE else TIMESTAMP


def _percentile(types: Types) -> Type:
    type_ = INTERVAL if types[0] == INTERVAL else DOUBLE
    return Array(type_) if isinstance(types[1], Array) else type_


def _appended(types: Types) -> Type:
    if not isinstance(types[0], Array):
        return UNKNOWN
    element, value = types[0].element, types[-1]
    if FLOAT in {element, value} and {element, value} <= {FLOAT, *INTEGERS}:
        return Array(FLOAT)
    return Array(tightest_type(element, value) or UNKNOWN)


def _window(types: Types) -> Type:
    type_ = TIMESTAMP_NTZ if types[0] == TIMESTAMP_NTZ else TIMESTAMP
    return _row(start=type_, end=type_)


_PARTS = frozenset(("element", "entries", "keys", "values", "map_from_arrays", "map_from_entries"))


def _parts(rule: str, types: Types) -> Type:
    """Return the type of a part of an array or map, or of a collection of parts."""
    match rule, types:
        case "element", [Array(element=inner) | Map(value=inner), *_]:
            return inner
        case "entries", [Map(key=key, value=value), *_]:
            return Array(_row(key=key, value=value))
        case ("keys", [Map(key=inner), *_]) | ("values", [Map(value=inner), *_]):
            return Array(inner)
        case "map_from_arrays", [Array(element=key), Array(element=value)]:
            return Map(key, value)
        case "map_from_entries", [Array(element=Row(fields=(key_field, value_field))), *_]:
            return Map(key_field.type, value_field.type)
        case _:
            return UNKNOWN


def _row(**fields: Type) -> Row:
    return Row(tuple(Field(name, type_) for name, type_ in fields.items()))


_BY_TYPES: dict[str, Callable[[Types], Type]] = {
    "appended": _appended,
    "array": lambda types: Array(_common(types)),
    "array_repeat": lambda types: Array(types[0]),
    "average": _average,
    "averagex": lambda types: _average(types[1:]),
    "bits": lambda types: INT if types[0] == NULL else types[0],
    "branches": lambda types: _common(types[1:]),
    "by": lambda types: types[0] if len(types) == 2 else Array(types[0]),
    "common": _common,
    "concat": _concat,
    "dateadd": _dateadd,
    "datediff": lambda types: INT if len(types) == 2 else BIGINT,
    "decoded": _decoded,
    "fraction": lambda types: FLOAT if types[0] == FLOAT and types[1] in {FLOAT, NULL} else DOUBLE,
    "histogram": lambda types: Array(_row(x=types[0], y=DOUBLE)),
    "inserted": _appended,
    "map": lambda types: Map(_common(types[::2]), _common(types[1::2])),
    "maps": lambda types: _common(types) if types else Map(STRING, STRING),
    "median": lambda types: INTERVAL if types[0] == INTERVAL else DOUBLE,
    "number": lambda types: DOUBLE if types[0] in {STRING, NULL} else types[0],
    "percentile": _percentile,
    "percentile_approx": lambda types: Array(types[0]) if isinstance(types[1], Array) else types[0],
    "sequence": lambda types: Array(_common([type_ for type_ in types if type_ != INTERVAL])),
    "shifted": lambda types: types[0] if types[0] in {BIGINT, UNKNOWN} else INT,
    "text": lambda types: types[0] if types[0] in {BINARY, UNKNOWN} and STRING not in types[1:] else STRING,
    "top": lambda types: Array(_row(item=types[0], count=BIGINT)),
    "total": _total,
    "uniform": _uniform,
    "unknown": lambda _: UNKNOWN,
    "window": _window,
    "zeroed": lambda types: _common([types[0], INT]),
}


# -- rules that also read literals


def _rounded(types: Types, literals: Literals) -> Type:
    type_ = types[0]
    if type_ == STRING:
        return DOUBLE
    if not isinstance(type_, Decimal):
        return type_
    digits = literals[1] if len(literals) > 1 else 0
    if not isinstance(digits, int):
        return UNKNOWN
    integer_digits = type_.precision - type_.scale + 1
    if digits < 0:
        return Decimal(min(MOST_DIGITS, max(integer_digits, -digits + 1)), 0)
    scale = min(type_.scale, digits)
    return Decimal(min(MOST_DIGITS, integer_digits + scale), scale)


def _integral(types: Types, literals: Literals) -> Type:
    type_ = types[0]
    if len(literals) > 1:
        # Given a number of digits, Spark casts to decimals: 15 digits for a double, 7 for a float.
        wide = Decimal(30, 15)
        widths: dict[Type, Decimal] = {DOUBLE: wide, FLOAT: Decimal(14, 7), STRING: wide}
        return _rounded([widths.get(type_) or as_decimal(type_)], literals)
    if isinstance(type_, Decimal):
        return Decimal(min(MOST_DIGITS, type_.precision - type_.scale + 1), 0)
    return BIGINT


def _decimal(_: Types, literals: Literals) -> Type:
    format_ = literals[1]
    if not isinstance(format_, str):
        return UNKNOWN
    integer, _dot, fraction = (
        format_.upper().replace("G", "").replace(",", "").replace("D", ".").partition(".")
    )
    digits = sum(integer.count(d) for d in "09"), sum(fraction.count(d) for d in "09")
    return Decimal(sum(digits), digits[1]) if sum(digits) else UNKNOWN


def _datepart(types: Types, literals: Literals) -> Type:
    if literals[0] is None:
        return DOUBLE
    part = part_of(str(literals[0]))
    if part == "second":
        return Decimal(8, 6)
    # Of an interval, hours, minutes and months are small.
    return TINYINT if types[1] == INTERVAL and part in {"hour", "minute", "month"} else INT


def _schema(text: object) -> Type:
    return (schema_of(text) if isinstance(text, str) else None) or UNKNOWN


_BY_LITERALS: dict[str, Callable[[Types, Literals], Type]] = {
    "datepart": _datepart,
    "decimal": _decimal,
    "rounded": _rounded,
    "schema": lambda _, literals: _schema(literals[1]),
    "variant_get": lambda _, literals: _schema(literals[2]) if len(literals) > 2 else VARIANT,
    "whole": _integral,
}
_CONSTANT = {
    str(type_): type_
    for type_ in (BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, INT, INTERVAL, STRING, TIMESTAMP, NULL)
}
