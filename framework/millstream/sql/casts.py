"""What CAST can do, and when its result can be NULL: Spark's `Cast.canAnsiCast` and `forceNullable`."""

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
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    VARIANT,
    Array,
    Decimal,
    Map,
    Row,
    Type,
)

DIGITS: dict[Type, int] = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
"""Digits of the decimal that can store every value of an integer type."""

_NUMBERS = frozenset({*INTEGERS, FLOAT, DOUBLE})
_CASTS: dict[Type, frozenset[Type]] = {
    BOOLEAN: _NUMBERS | {VARIANT},
    **dict.fromkeys(INTEGERS, _NUMBERS | {BOOLEAN, TIMESTAMP, INTERVAL, VARIANT}),
    **dict.fromkeys((FLOAT, DOUBLE), _NUMBERS | {BOOLEAN, TIMESTAMP, VARIANT}),
    STRING: _NUMBERS | {BOOLEAN, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, INTERVAL, VARIANT},
    BINARY: frozenset({VARIANT}),
    DATE: frozenset({TIMESTAMP, TIMESTAMP_NTZ, VARIANT}),
    TIMESTAMP: _NUMBERS | {DATE, TIMESTAMP_NTZ, VARIANT},
    TIMESTAMP_NTZ: frozenset({DATE, TIMESTAMP, VARIANT}),
    INTERVAL: frozenset(INTEGERS),
}
"""The types that each type can be cast to, besides itself and text; without decimals and nested types."""

_TO_DECIMAL = frozenset({*_NUMBERS, BOOLEAN, STRING, TIMESTAMP, INTERVAL})
_FROM_DECIMAL = _NUMBERS | {BOOLEAN, TIMESTAMP, INTERVAL, VARIANT}


def can_cast(source: Type, target: Type) -> bool:
    """Return whether a value of one type can be cast to another."""
    if source == target or source in {NULL, UNKNOWN} or target in {STRING, UNKNOWN}:
        return True
    if source == VARIANT:
        return target != INTERVAL
    match source, target:
        case Decimal(), Decimal():
            return True
        case Decimal(), _:
            return target in _FROM_DECIMAL
        case _, Decimal():
            return source in _TO_DECIMAL
        case Array(), Array():
            return can_cast(source.element, target.element)
        case Array(), _:
            return target == VARIANT and can_cast(source.element, VARIANT)
        case Map(), Map():
            return can_cast(source.key, target.key) and can_cast(source.value, target.value)
        case Row(), Row():
            return len(source.fields) == len(target.fields) and all(
                can_cast(a.type, b.type) for a, b in zip(source.fields, target.fields, strict=True)
            )
        case _:
            return target in _CASTS.get(source, ())


def makes_nulls(source: Type, target: Type) -> bool:
    """Return whether Spark considers a cast nullable even if its input is not."""
    if source == target or UNKNOWN in {source, target}:
        return False
    if source == STRING:
        return target != BINARY
    if source == VARIANT:
        return True
    if target == STRING:
        return False
    match source, target:
        case _, Decimal():
            return not _fits(source, target)
        case _, _ if target in INTEGERS:
            return (
                isinstance(source, Decimal)
                or source in {FLOAT, DOUBLE}
                or (source == TIMESTAMP and target != BIGINT)
            )
        case _, _ if target == TIMESTAMP:
            return source in {FLOAT, DOUBLE}
        case _, _ if target == DATE:
            return source != TIMESTAMP
        case _:
            return source == DATE and target in {TIMESTAMP_NTZ, VARIANT}


def cast_raises(source: Type, target: Type) -> bool:
    """Return whether a cast can fail on some value (ANSI mode); if uncertain, the answer is yes."""
    if source in {target, NULL} or (target == STRING and source != UNKNOWN):
        return False
    match source, target:
        case Array(), Array():
            return cast_raises(source.element, target.element)
        case Map(), Map():
            return cast_raises(source.key, target.key) or cast_raises(source.value, target.value)
        case Row(), Row() if len(source.fields) == len(target.fields):
            return any(cast_raises(a.type, b.type) for a, b in zip(source.fields, target.fields, strict=True))
        case _, Decimal():
            return not (isinstance(source, Decimal) or source in {*INTEGERS, BOOLEAN}) or not _fits(
                source, target
            )
        case Decimal(), _:
            return target not in {FLOAT, DOUBLE, BOOLEAN}
    if source in INTEGERS and target in INTEGERS:
        return INTEGERS.index(source) > INTEGERS.index(target)
    return target not in _SAFE.get(source, ())


_SAFE: dict[Type, frozenset[Type]] = {
    BOOLEAN: _NUMBERS,
    **dict.fromkeys(INTEGERS, frozenset({FLOAT, DOUBLE, BOOLEAN, TIMESTAMP})),
    **dict.fromkeys((FLOAT, DOUBLE), frozenset({FLOAT, DOUBLE, BOOLEAN})),
    STRING: frozenset({BINARY}),
    DATE: frozenset({TIMESTAMP, TIMESTAMP_NTZ}),
    TIMESTAMP: frozenset({DATE, TIMESTAMP_NTZ, BIGINT, FLOAT, DOUBLE}),
    TIMESTAMP_NTZ: frozenset({DATE, TIMESTAMP}),
}
"""Casts that never fail, besides those to text and between integers."""


def _fits(source: Type, target: Decimal) -> bool:
    digits = target.precision - target.scale
    match source:
        case Decimal():
            # Losing digits after the point rounds, which can need one more digit before it.
            spare = 0 if source.scale <= target.scale else 1
            return source.precision - source.scale + spare <= digits
        case _ if source in INTEGERS:
            return DIGITS[source] <= digits
        case _:
            return source == BOOLEAN and digits >= 1
