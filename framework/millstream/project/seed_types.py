"""The types that values of a CSV file can have."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable

from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    Decimal,
    Type,
)

_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
_INTEGER = re.compile(r"[+-]?\d{1,40}\Z", re.ASCII)
_PLAIN_WHOLE = re.compile(r"-?(0|[1-9]\d{0,18})\Z", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?\Z", re.ASCII)
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)?(\.\d+)?([eE][+-]?\d{1,3})?\Z", re.ASCII)
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)\Z", re.IGNORECASE)
_FIXED = re.compile(r"[+-]?0*(\d*)\.?(\d*?)0*\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d(?::?\d\d)?))?)?\Z",
    re.ASCII,
)


def infer_type(values: Iterable[str]) -> Type:
    """Return the narrowest type of all values; a value with a leading zero is not a number."""
    present = [value for value in values if value]
    for candidate, fits in _INFERRED:
        if present and all(map(fits, present)):
            return candidate
    return STRING


def check_of(type_: Type) -> Callable[[str], bool] | None:
    """Return a function that checks whether a value has a type; None if a CSV file can't contain the type."""
    if type_ in _BITS:
        least = -(2 ** (_BITS[type_] - 1))
        return lambda value: bool(_INTEGER.match(value)) and least <= int(value) < -least
    if isinstance(type_, Decimal):
        return lambda value: _is_decimal(value, type_)
    return _READERS.get(type_)


def _is_boolean(value: str) -> bool:
    return value.lower() in {"true", "false"}


def _is_plain_whole(value: str) -> bool:
    return bool(_PLAIN_WHOLE.match(value)) and -(2**63) <= int(value) < 2**63


def _is_plain_number(value: str) -> bool:
    if not _PLAIN_NUMBER.match(value) or not any(map(str.isdigit, value)):
        return False
    # An id of twenty digits would lose its last ones, and `1e999` would become infinity.
    return abs(int(value)) <= 2**53 if value.lstrip("-").isdigit() else math.isfinite(float(value))


def _is_number(value: str) -> bool:
    return bool(_NUMBER.match(value) or _SPECIAL.match(value))


def _is_decimal(value: str, type_: Decimal) -> bool:
    number = _FIXED.match(value)
    if not number or not any(map(str.isdigit, value)):
        return False
    return len(number.group(1)) <= type_.precision - type_.scale and len(number.group(2)) <= type_.scale


def _is_date(value: str) -> bool:
    # `fromisoformat` alone is not enough: from Python 3.11 on, it reads 20240131 and 2024-W05.
    if not _DATE.match(value):
        return False
    try:
        dt.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_timestamp(value: str) -> bool:
    parts = _TIMESTAMP.match(value)
    if not parts or not _is_date(parts.group(1)):
        return False
    try:
        dt.time.fromisoformat(parts.group(2) or "00:00")
    except ValueError:
        return False
    return True


_INFERRED = (
    (BOOLEAN, _is_boolean),
    (BIGINT, _is_plain_whole),
    (DOUBLE, _is_plain_number),
    (DATE, _is_date),
    (TIMESTAMP, _is_timestamp),
)
_READERS: dict[Type, Callable[[str], bool]] = {
    BOOLEAN: _is_boolean,
    DOUBLE: _is_number,
    FLOAT: _is_number,
    DATE: _is_date,
    TIMESTAMP: _is_timestamp,
    TIMESTAMP_NTZ: _is_timestamp,
    STRING: lambda _: True,
    BINARY: lambda _: True,
    UNKNOWN: lambda _: True,
}
