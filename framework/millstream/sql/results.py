"""The result types of functions that depend on their arguments: the rules that `spark_functions` names."""

from collections.abc import Callable

from millstream.sql.coercion import MOST_DIGITS, arithmetic, bounded, common
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
    UNKNOWN,
    Array,
    Decimal,
    Field,
    Map,
    Row,
    Type,
    TypeSyntaxError,
    parse_type,
)

Rule = Callable[[str, list[Type], list[object]], Type]
"""Name of the function, types of the arguments, literal values of the arguments (None when not literal)."""


def _whole(_: str, types: list[Type], literals: list[object]) -> Type:
    found = types[0]
    if isinstance(found, Decimal):
        if len(literals) > 1:
            return _rounded(_, types, literals)
        return Decimal(min(MOST_DIGITS, found.precision - found.scale + 1), 0)
    return BIGINT if len(types) == 1 else Decimal(MOST_DIGITS, 0)


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


def _remainder(_: str, types: list[Type], literals: list[object]) -> Type:
    return arithmetic("%", types[0], types[1], (literals[0], literals[1])) or UNKNOWN


def _tried(name: str, types: list[Type], literals: list[object]) -> Type:
    operator = {"try_divide": "/", "try_add": "+", "try_subtract": "-", "try_multiply": "*"}.get(name, "%")
    return arithmetic(operator, types[0], types[1], (literals[0], literals[1])) or UNKNOWN


def _total(_: str, types: list[Type], __: list[object]) -> Type:
    found = types[0]
    if isinstance(found, Decimal):
        return bounded(found.precision + 10, found.scale) if found.precision <= 28 else Decimal(38, found.scale)
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
    return STRING if len(types) == 2 else (common(types[2::2]) or UNKNOWN)


def _datepart(_: str, __: list[Type], literals: list[object]) -> Type:
    part = str(literals[0] or "").lower()
    return Decimal(8, 6) if part in {"second", "s", "sec", "seconds", "secs"} else INT


def _dateadd(_: str, types: list[Type], __: list[object]) -> Type:
    if len(types) == 2:
        return DATE
    return types[2] if types[2] != DATE else TIMESTAMP


def _datediff(_: str, types: list[Type], __: list[object]) -> Type:
    return INT if len(types) == 2 else BIGINT


def _window(_: str, __: list[Type], ___: list[object]) -> Type:
    return Row((Field("start", TIMESTAMP), Field("end", TIMESTAMP)))


def _array(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(common(types) or UNKNOWN)


def _array_repeat(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(types[0])


def _element(_: str, types: list[Type], __: list[object]) -> Type:
    match types[0]:
        case Array(element=element):
            return element
        case Map(value=value):
            return value
        case _:
            return UNKNOWN


def _zipped(_: str, types: list[Type], __: list[object]) -> Type:
    elements = [found.element if isinstance(found, Array) else UNKNOWN for found in types]
    return Array(Row(tuple(Field(str(index), found) for index, found in enumerate(elements))))


def _sequence(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(common(types[:2]) or UNKNOWN)


def _map(_: str, types: list[Type], __: list[object]) -> Type:
    return Map(common(types[::2]) or UNKNOWN, common(types[1::2]) or UNKNOWN)


def _entries(_: str, types: list[Type], __: list[object]) -> Type:
    match types[0]:
        case Map(key=key, value=value):
            return Array(Row((Field("key", key), Field("value", value))))
        case _:
            return UNKNOWN


def _keys(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(types[0].key) if isinstance(types[0], Map) else UNKNOWN


def _values(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(types[0].value) if isinstance(types[0], Map) else UNKNOWN


def _map_from_arrays(_: str, types: list[Type], __: list[object]) -> Type:
    match types:
        case [Array(element=key), Array(element=value)]:
            return Map(key, value)
        case _:
            return UNKNOWN


def _map_from_entries(_: str, types: list[Type], __: list[object]) -> Type:
    match types[0]:
        case Array(element=Row(fields=(key, value))):
            return Map(key.type, value.type)
        case _:
            return UNKNOWN


def _schema(_: str, __: list[Type], literals: list[object]) -> Type:
    text = literals[1]
    if not isinstance(text, str):
        return UNKNOWN
    for candidate in (text, f"struct<{text}>"):
        try:
            return parse_type(candidate)
        except TypeSyntaxError:
            continue
    return UNKNOWN


def _variant_get(_: str, __: list[Type], literals: list[object]) -> Type:
    if len(literals) < 3 or not isinstance(literals[2], str):
        return UNKNOWN
    return _schema(_, [], [None, literals[2]])


def _by(_: str, types: list[Type], __: list[object]) -> Type:
    return types[0] if len(types) == 2 else Array(types[0])


def _median(_: str, types: list[Type], __: list[object]) -> Type:
    return types[0] if types[0] == INTERVAL else DOUBLE


def _percentile(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(DOUBLE) if isinstance(types[1], Array) else DOUBLE


def _percentile_approx(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(types[0]) if isinstance(types[1], Array) else types[0]


RULES: dict[str, Rule] = {
    "whole": _whole,
    "rounded": _rounded,
    "common": _common,
    "branches": _branches,
    "remainder": _remainder,
    "tried": _tried,
    "total": _total,
    "average": _average,
    "concat": _concat,
    "decimal": _decimal,
    "decoded": _decoded,
    "datepart": _datepart,
    "dateadd": _dateadd,
    "datediff": _datediff,
    "window": _window,
    "array": _array,
    "array_repeat": _array_repeat,
    "element": _element,
    "zipped": _zipped,
    "sequence": _sequence,
    "map": _map,
    "entries": _entries,
    "keys": _keys,
    "values": _values,
    "map_from_arrays": _map_from_arrays,
    "map_from_entries": _map_from_entries,
    "schema": _schema,
    "variant_get": _variant_get,
    "by": _by,
    "median": _median,
    "percentile": _percentile,
    "percentile_approx": _percentile_approx,
    "unknown": lambda _, __, ___: UNKNOWN,
}
_CONSTANT = {
    str(found): found for found in (BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, INT, INTERVAL, STRING, TIMESTAMP, NULL)
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
