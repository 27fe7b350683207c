"""Values of logical types: from the numbers, texts and bytes that stand for them, and back."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal, localcontext
from typing import Any

from millstream.formats.avro.types import AvroFixed, AvroPrimitive
from millstream.formats.reasons import not_a
from millstream.formats.values import UnfitError

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST, _LAST = date.min.toordinal(), date.max.toordinal()
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_MOST_DIGITS = 38
_EXACT = Context(prec=100)


def logical_value(value: Any, written: AvroPrimitive | AvroFixed, expected: AvroPrimitive | AvroFixed) -> Any:
    """Return the value of what was read, by the logical type that it was written with."""
    logical = written.logical or expected.logical
    match expected.logical:
        case "":
            return value
        case "date":
            return _date(value)
        case "uuid":
            return uuid_text(value)
        case "decimal":
            return _decimal(value, written if written.logical else expected, expected)
        case "time-millis" | "time-micros":
            micros = time_of_day(value, logical) * (1000 if logical == "time-millis" else 1)
            return micros // 1000 if expected.logical == "time-millis" else micros
        case _:
            return _timestamp(value, logical)


def logical_kind(logical: str) -> str:
    """Return a logical type without its unit: only values of the same kind can be read as each other."""
    return logical.removesuffix("-millis").removesuffix("-micros")


def _date(days: int) -> date:
    ordinal = days + _EPOCH.toordinal()
    if not _FIRST <= ordinal <= _LAST:
        raise not_a(days, "a date of the years 1 to 9999")
    return date.fromordinal(ordinal)


def uuid_text(text: str) -> str:
    if not _UUID.fullmatch(text):
        raise not_a(text, "a UUID")
    return text


def time_of_day(number: int, logical: str) -> int:
    unit = timedelta(milliseconds=1) if logical == "time-millis" else timedelta(microseconds=1)
    if not 0 <= number < _DAY // unit:
        raise not_a(number, f"a time of day in {_unit(logical)}")
    return number


def _unit(logical: str) -> str:
    return "milliseconds" if logical.endswith("-millis") else "microseconds"


def _timestamp(number: int, logical: str) -> datetime:
    micros = number * (1000 if logical.endswith("-millis") else 1)
    try:
        time = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise not_a(number, f"a timestamp of the years 1 to 9999 in {_unit(logical)}") from None
    return time.replace(tzinfo=None) if logical.startswith("local-") else time


def _decimal(
    content: bytes, written: AvroPrimitive | AvroFixed, expected: AvroPrimitive | AvroFixed
) -> Decimal:
    if not content:
        raise UnfitError("a decimal has no bytes")
    number = int.from_bytes(content, "big", signed=True)
    if number.bit_length() > 128:
        raise UnfitError(f"a number of {number.bit_length()} bits is not {_name(expected)}")
    return fit_decimal(
        Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -written.scale)), expected
    )


def fit_decimal(value: Decimal, of: AvroPrimitive | AvroFixed) -> Decimal:
    """Return a decimal with the scale of a type, if the type holds it exactly."""
    if value.is_finite() and value.adjusted() < _MOST_DIGITS:
        with localcontext(_EXACT):
            scaled = value.quantize(Decimal(1).scaleb(-of.scale))
        if scaled == value and len(scaled.as_tuple().digits) <= of.precision:
            return scaled
    raise not_a(f"{value:f}", _name(of))


def _name(of: AvroPrimitive | AvroFixed) -> str:
    return f"a decimal({of.precision},{of.scale})"


def micros_of(value: datetime) -> int:
    """Return the microseconds since 1970 of a timestamp; one without time zone is UTC."""
    aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def days_of(value: date) -> int:
    return value.toordinal() - _EPOCH.toordinal()


def unscaled_value(value: Decimal, of: AvroPrimitive | AvroFixed) -> int:
    with localcontext(_EXACT):
        return int(fit_decimal(value, of).scaleb(of.scale))
