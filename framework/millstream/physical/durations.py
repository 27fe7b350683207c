"""Parses durations as options write them: `1 hour 30 minutes`."""

from __future__ import annotations

from fractions import Fraction

_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_MONTHS = {"month": 1, "year": 12}
_MONTH = 30 * _MICROS["day"]
"""The length of a month for fractions of months."""


def parts(duration: str) -> tuple[int, int]:
    """Return months and microseconds of a duration: `1 month 12 hours`, or in SQL `INTERVAL '1' HOUR`."""
    months, micros = Fraction(0), Fraction(0)
    words = duration.lower().removeprefix("interval ").replace("'", " ").split()
    for number, unit in zip(words[::2], words[1::2], strict=True):
        name = unit.removesuffix("s")
        if name in _MONTHS:
            months += Fraction(number) * _MONTHS[name]
        else:
            micros += Fraction(number) * _MICROS[name]
    whole = int(months)
    return whole, int(micros + (months - whole) * _MONTH)


def milliseconds(duration: str) -> int:
    """Return a duration in milliseconds; a month has thirty days."""
    months, micros = parts(duration)
    return (months * _MONTH + micros) // 1000
