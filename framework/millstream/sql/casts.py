"""What CAST can do, and when its result can be NULL: Spark's `Cast.canAnsiCast` and `forceNullable`."""

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


def can_cast(given: Type, wanted: Type) -> bool:
    """Return whether a value of one type can be cast to another."""
    if given == wanted or given in {NULL, UNKNOWN} or wanted in {STRING, UNKNOWN}:
        return True
    if given == VARIANT:
        return wanted != INTERVAL
    match given, wanted:
        case Decimal(), Decimal():
            return True
        case Decimal(), _:
            return wanted in _FROM_DECIMAL
        case _, Decimal():
            return given in _TO_DECIMAL
        case Array(), Array():
            return can_cast(given.element, wanted.element)
        case Array(), _:
            return wanted == VARIANT and can_cast(given.element, VARIANT)
        case Map(), Map():
            return can_cast(given.key, wanted.key) and can_cast(given.value, wanted.value)
        case Row(), Row():
            return len(given.fields) == len(wanted.fields) and all(
                can_cast(a.type, b.type) for a, b in zip(given.fields, wanted.fields, strict=True)
            )
        case _:
            return wanted in _CASTS.get(given, ())


def makes_nulls(given: Type, wanted: Type) -> bool:
    """Return whether Spark considers a cast nullable even if its input is not."""
    if given == wanted or UNKNOWN in {given, wanted}:
        return False
    if given == STRING:
        return wanted != BINARY
    if given == VARIANT:
        return True
    if wanted == STRING:
        return False
    match given, wanted:
        case _, Decimal():
            return not _fits(given, wanted)
        case _, _ if wanted in INTEGERS:
            return (
                isinstance(given, Decimal)
                or given in {FLOAT, DOUBLE}
                or (given == TIMESTAMP and wanted != BIGINT)
            )
        case _, _ if wanted == TIMESTAMP:
            return given in {FLOAT, DOUBLE}
        case _, _ if wanted == DATE:
            return given != TIMESTAMP
        case _:
            return given == DATE and wanted in {TIMESTAMP_NTZ, VARIANT}


def cast_raises(given: Type, wanted: Type) -> bool:
    """Return whether a cast can fail on some value (ANSI mode); if uncertain, the answer is yes."""
    if given in {wanted, NULL} or (wanted == STRING and given != UNKNOWN):
        return False
    match given, wanted:
        case Array(), Array():
            return cast_raises(given.element, wanted.element)
        case Map(), Map():
            return cast_raises(given.key, wanted.key) or cast_raises(given.value, wanted.value)
        case Row(), Row() if len(given.fields) == len(wanted.fields):
            return any(cast_raises(a.type, b.type) for a, b in zip(given.fields, wanted.fields, strict=True))
        case _, Decimal():
            return not (isinstance(given, Decimal) or given in {*INTEGERS, BOOLEAN}) or not _fits(
                given, wanted
            )
        case Decimal(), _:
            return wanted not in {FLOAT, DOUBLE, BOOLEAN}
    if given in INTEGERS and wanted in INTEGERS:
        return INTEGERS.index(given) > INTEGERS.index(wanted)
    return wanted not in _SAFE.get(given, ())


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


def _fits(given: Type, wanted: Decimal) -> bool:
    whole = wanted.precision - wanted.scale
    match given:
        case Decimal():
            # Losing digits after the point rounds, which can need one more digit before it.
            spare = 0 if given.scale <= wanted.scale else 1
            return given.precision - given.scale + spare <= whole
        case _ if given in INTEGERS:
            return DIGITS[given] <= whole
        case _:
            return given == BOOLEAN and whole >= 1
