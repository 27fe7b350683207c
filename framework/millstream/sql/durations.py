"""Parses durations as Spark does: `5 minutes`, `1 hour 30 minutes`, `interval 1.5 seconds`."""

from __future__ import annotations

import re
from decimal import Decimal

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
"""By unit; months and years have no fixed length."""
_MONTHS = frozenset(("month", "year"))
_PART = re.compile(
    r"(?P<sign>[+-]?)\s*'?(?P<number>\d*\.?\d+|\d+\.)'?\s+(?P<unit>[a-z]+?)s?(?=\s|$)", re.IGNORECASE
)
_PREFIX = re.compile(r"\s*interval\s+", re.IGNORECASE)


def duration_micros(text: str) -> int | str:
    """Return the length of a duration, or an error message."""
    rest = _PREFIX.sub("", text, count=1) if _PREFIX.match(text) else text
    rest, total, has_parts = rest.strip(), 0, False
    while rest:
        part = _PART.match(rest)
        unit = part["unit"].lower() if part else ""
        if (
            part is None
            or unit not in {*MICROSECONDS, *_MONTHS}
            or ("." in part["number"] and unit != "second")
        ):
            return f"'{text}' is not a duration in Spark"
        number = Decimal(f"{part['sign']}{part['number']}")
        if unit in _MONTHS and number:
            return f"'{text}' has no fixed length, since months and years vary"
        total += int(number * MICROSECONDS.get(unit, 0))
        rest, has_parts = rest[part.end() :].lstrip(), True
    return total if has_parts else f"'{text}' is not a duration in Spark"
