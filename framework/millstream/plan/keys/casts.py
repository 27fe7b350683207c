"""What casts, and units of time, keep of a value."""

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
    """Return what is left of a value in another type; `fixed_offset`: clocks are never put back."""
    given = value.type
    if given == wanted:
        return value
    lost = Value(why=value.why or f"a cast from {given} to {wanted} can lose a part of the value")
    kept = replace(value, type=wanted, apart=1, literal=None)
    match given:
        case _ if value.window:
            return lost
        case Decimal(precision, scale):
            wide = isinstance(wanted, Decimal) and (
                wanted.scale >= scale and wanted.precision - wanted.scale >= precision - scale
            )
            return _text(value, kept) if wanted == STRING else kept if wide else lost
        case _ if given == TIMESTAMP and wanted == STRING:
            return _text(value, kept) if _local(value, 1, fixed_offset=fixed_offset) else _twice(value)
        case _ if given == TIMESTAMP and wanted == DATE:
            return cut(value, kept, times.DAY, "a date", fixed_offset=fixed_offset)
        case _ if given == TIMESTAMP and wanted == TIMESTAMP_NTZ:
            return replace(kept, apart=1) if _local(value, 1, fixed_offset=fixed_offset) else _twice(value)
        case _ if given == TIMESTAMP and wanted == BIGINT:
            return kept if value.apart >= times.SECOND else lost
        case _ if given in {DATE, TIMESTAMP_NTZ} and wanted == TIMESTAMP:
            return replace(kept, apart=1) if fixed_offset else lost
    if wanted == STRING and (texts_of(given) is not None):
        return _text(value, kept)
    return kept if _widens(given, wanted) else lost


def _text(value: Value, kept: Value) -> Value:
    literal = None if value.literal is None else str(value.literal)
    return replace(kept, type=STRING, texts=texts_of(value.type), literal=literal)


def _local(value: Value, unit: int, *, fixed_offset: bool) -> bool:
    """Tell whether local times of a unit are different; clocks are put back by a day at most."""
    return value.apart >= (unit if fixed_offset else unit + times.DAY)


def _twice(value: Value) -> Value:
    return Value(why=value.why or "a local time comes twice when clocks are put back")


def cut(value: Value, kept: Value, unit: int, what: str, *, fixed_offset: bool) -> Value:
    """Return what is left of a time that is cut to a unit."""
    if not unit or value.apart < unit:
        return coarse(value, what)
    return kept if _local(value, unit, fixed_offset=fixed_offset) else _twice(value)


_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def _widens(given: Type, wanted: Type) -> bool:
    """Tell whether each value of a type has one of its own in another."""
    if given in INTEGERS:
        if wanted in INTEGERS:
            return INTEGERS.index(wanted) >= INTEGERS.index(given)
        if isinstance(wanted, Decimal):
            return wanted.precision - wanted.scale >= _DIGITS[str(given)]
        return wanted == DOUBLE and given != BIGINT
    pairs = ((FLOAT, DOUBLE), (STRING, BINARY), (DATE, TIMESTAMP_NTZ))
    return (given, wanted) in pairs or (given == BOOLEAN and wanted in INTEGERS)
