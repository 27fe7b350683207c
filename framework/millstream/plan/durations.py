"""Parses durations as options write them: `1 hour 30 minutes`."""

from __future__ import annotations

from fractions import Fraction

from millstream.sql.durations import MICROSECONDS

_MONTHS = {"month": 1, "year": 12}
_MONTH = 30 * MICROSECONDS["day"]
"""The length of a month for fractions of months."""

_STEPS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"))


def parse_duration(duration: str) -> tuple[int, int]:
    """Return months and microseconds of a duration: `1 month 12 hours`, or in SQL `INTERVAL '1' HOUR`."""
    months, micros = Fraction(0), Fraction(0)
    words = duration.lower().removeprefix("interval ").replace("'", " ").split()
    for number, unit in zip(words[::2], words[1::2], strict=True):
        name = unit.removesuffix("s")
        if name in _MONTHS:
            months += Fraction(number) * _MONTHS[name]
        else:
            micros += Fraction(number) * MICROSECONDS[name]
    whole_months = int(months)
    return whole_months, int(micros + (months - whole_months) * _MONTH)


def duration_millis(duration: str) -> int:
    """Return a duration in milliseconds; a month has thirty days."""
    months, micros = parse_duration(duration)
    return (months * _MONTH + micros) // 1000


def is_longer(was: str | None, now: str | None) -> bool:
    """Whether a retention is longer; empty is forever, None is unknown."""
    if not was or now is None:
        return False
    return not now or parse_duration(now) > parse_duration(was)


def format_duration(millis: int) -> str:
    """Return a duration in the largest unit that fits: `7 days`."""
    for size, name in _STEPS:
        if millis >= size and millis % size == 0:
            count = millis // size
            return f"{count:,} {name}{'' if count == 1 else 's'}"
    return f"{millis:,} ms"
