"""What casts and units of time preserve of a value."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.plan.keys import times
from millstream.plan.keys.texts import texts_of
from millstream.plan.keys.values import Value, coarse
from millstream.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Type,
)


def cast(value: Value, wanted: Type, *, fixed_offset: bool) -> Value:
    """Return a value after a cast; with `fixed_offset`, clocks are never set back."""
    given = value.type
    if given == wanted:
        return value
    lossy = Value(why=value.why or f"a cast from {given} to {wanted} can lose a part of the value")
    lossless = replace(value, type=wanted, gap=1, literal=None)
    match given:
        case _ if value.window:
            return lossy
        case Decimal(precision, scale):
            wide = isinstance(wanted, Decimal) and (
                wanted.scale >= scale and wanted.precision - wanted.scale >= precision - scale
            )
            return _text(value, lossless) if wanted == STRING else lossless if wide else lossy
        case _ if given == TIMESTAMP and wanted == STRING:
            return _text(value, lossless) if _local(value, 1, fixed_offset=fixed_offset) else _twice(value)
        case _ if given == TIMESTAMP and wanted == DATE:
            return cut(value, lossless, times.DAY, "a date", fixed_offset=fixed_offset)
        case _ if given == TIMESTAMP and wanted == TIMESTAMP_NTZ:
            return replace(lossless, gap=1) if _local(value, 1, fixed_offset=fixed_offset) else _twice(value)
        case _ if given == TIMESTAMP and wanted == BIGINT:
            return lossless if value.gap >= times.SECOND else lossy
        case _ if given in {DATE, TIMESTAMP_NTZ} and wanted == TIMESTAMP:
            return replace(lossless, gap=1) if fixed_offset else lossy
    if wanted == STRING and (texts_of(given) is not None):
        return _text(value, lossless)
    return lossless if _widens(given, wanted) else lossy


def _text(value: Value, lossless: Value) -> Value:
    literal = None if value.literal is None else str(value.literal)
    return replace(lossless, type=STRING, texts=texts_of(value.type), literal=literal)


def _local(value: Value, unit: int, *, fixed_offset: bool) -> bool:
    """Return whether local times of a unit differ; clocks are set back by a day at most."""
    return value.gap >= (unit if fixed_offset else unit + times.DAY)


def _twice(value: Value) -> Value:
    return Value(why=value.why or "a local time occurs twice when clocks are set back")


def cut(value: Value, lossless: Value, unit: int, what: str, *, fixed_offset: bool) -> Value:
    """Return a time after truncation to a unit."""
    if not unit or value.gap < unit:
        return coarse(value, what)
    return lossless if _local(value, unit, fixed_offset=fixed_offset) else _twice(value)


_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def _widens(given: Type, wanted: Type) -> bool:
    """Return whether a cast maps different values to different values."""
    if given in INTEGERS:
        if wanted in INTEGERS:
            return INTEGERS.index(wanted) >= INTEGERS.index(given)
        if isinstance(wanted, Decimal):
            return wanted.precision - wanted.scale >= _DIGITS[str(given)]
        return wanted == DOUBLE and given != BIGINT
    pairs = ((FLOAT, DOUBLE), (STRING, BINARY), (DATE, TIMESTAMP_NTZ))
    return (given, wanted) in pairs or (given == BOOLEAN and wanted in INTEGERS)
