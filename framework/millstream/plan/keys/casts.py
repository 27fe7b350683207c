"""What casts and units of time preserve of a value."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.core.types import (
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
from millstream.plan.keys import times
from millstream.plan.keys.texts import texts_of
from millstream.plan.keys.values import ValueFacts, coarse_time


def cast_value(value: ValueFacts, target_type: Type, *, fixed_offset: bool) -> ValueFacts:
    """Return a value after a cast; with `fixed_offset`, clocks are never set back."""
    source_type = value.type
    if source_type == target_type:
        return value
    lossy = ValueFacts(
        why=value.why or f"a cast from {source_type} to {target_type} can lose a part of the value"
    )
    lossless = replace(value, type=target_type, gap=1, literal=None)
    match source_type:
        case _ if value.window:
            return lossy
        case Decimal(precision, scale):
            wide = isinstance(target_type, Decimal) and (
                target_type.scale >= scale and target_type.precision - target_type.scale >= precision - scale
            )
            return _text(value, lossless) if target_type == STRING else lossless if wide else lossy
        case _ if source_type == TIMESTAMP and target_type == STRING:
            return _text(value, lossless) if _local(value, 1, fixed_offset=fixed_offset) else _twice(value)
        case _ if source_type == TIMESTAMP and target_type == DATE:
            return truncate_time(value, lossless, times.DAY, "a date", fixed_offset=fixed_offset)
        case _ if source_type == TIMESTAMP and target_type == TIMESTAMP_NTZ:
            return replace(lossless, gap=1) if _local(value, 1, fixed_offset=fixed_offset) else _twice(value)
        case _ if source_type == TIMESTAMP and target_type == BIGINT:
            return lossless if value.gap >= times.SECOND else lossy
        case _ if source_type in {DATE, TIMESTAMP_NTZ} and target_type == TIMESTAMP:
            return replace(lossless, gap=1) if fixed_offset else lossy
    if target_type == STRING and (texts_of(source_type) is not None):
        return _text(value, lossless)
    return lossless if _widens(source_type, target_type) else lossy


def _text(value: ValueFacts, lossless: ValueFacts) -> ValueFacts:
    literal = None if value.literal is None else str(value.literal)
    return replace(lossless, type=STRING, texts=texts_of(value.type), literal=literal)


def _local(value: ValueFacts, unit: int, *, fixed_offset: bool) -> bool:
    """Return whether local times of a unit differ; clocks are set back by a day at most."""
    return value.gap >= (unit if fixed_offset else unit + times.DAY)


def _twice(value: ValueFacts) -> ValueFacts:
    return ValueFacts(why=value.why or "a local time occurs twice when clocks are set back")


def truncate_time(
    value: ValueFacts, lossless: ValueFacts, unit: int, what: str, *, fixed_offset: bool
) -> ValueFacts:
    """Return a time after truncation to a unit."""
    if not unit or value.gap < unit:
        return coarse_time(value, what)
    return lossless if _local(value, unit, fixed_offset=fixed_offset) else _twice(value)


_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def _widens(source_type: Type, target_type: Type) -> bool:
    """Return whether a cast maps different values to different values."""
    if source_type in INTEGERS:
        if target_type in INTEGERS:
            return INTEGERS.index(target_type) >= INTEGERS.index(source_type)
        if isinstance(target_type, Decimal):
            return target_type.precision - target_type.scale >= _DIGITS[str(source_type)]
        return target_type == DOUBLE and source_type != BIGINT
    pairs = ((FLOAT, DOUBLE), (STRING, BINARY), (DATE, TIMESTAMP_NTZ))
    return (source_type, target_type) in pairs or (source_type == BOOLEAN and target_type in INTEGERS)
