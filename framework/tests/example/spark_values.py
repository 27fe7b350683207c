"""What Spark's functions give for a value, worked out without Spark. `None` is NULL."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_WIDE = Context(prec=400)


class Either(NamedTuple):
    """Any of these is right: Spark does not say which of equals it takes."""

    values: tuple[Any, ...]


def half_up(value: float | None, digits: int) -> float | None:
    """`round` of a double: of the shortest text that reads back as it, half away from zero."""
    if value is None or not math.isfinite(value):
        return value
    return float(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _WIDE))


def ratio(numerator: int | None, denominator: int | None, digits: int) -> float | None:
    """The macro `safe_divide`: NULL unless the denominator is positive; whole numbers divide as doubles."""
    if numerator is None or denominator is None or denominator <= 0:
        return None
    return half_up(float(numerator) / float(denominator), digits)


def total(values: Iterable[float | None]) -> float | None:
    """`sum` of doubles: NULLs are left out, and nothing but NULLs gives NULL."""
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) if numbers else None


def count_if(values: Iterable[bool | None]) -> int:
    return sum(value is True for value in values)


def without_nulls(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def max_by(rows: Iterable[tuple[Any, Any]]) -> Any:
    """The value beside the largest of the second ones; rows where that is NULL don't count."""
    ordered = [(value, by) for value, by in rows if by is not None]
    if not ordered:
        return None
    largest = max(by for _, by in ordered)
    tied = [value for value, by in ordered if by == largest]
    return tied[0] if all(value == tied[0] for value in tied) else Either(tuple(tied))


def timestamp_millis(value: int | None) -> datetime | None:
    return None if value is None else EPOCH + timedelta(milliseconds=value)


def unix_millis(time: datetime) -> int:
    return (time - EPOCH) // timedelta(milliseconds=1)


def window(time: datetime, length: timedelta) -> tuple[datetime, datetime]:
    """The window that begins at or before this moment, counted from 1970; its end is not in it."""
    start = EPOCH + (time - EPOCH) // length * length
    return start, start + length


def window_key(key: str | None, start: datetime) -> str | None:
    """The macro `window_key`: `concat` is NULL when a part of it is."""
    return None if key is None else f"{key}@{unix_millis(start)}"
