"""The event time of a record, which becomes its timestamp.

It is the column of the source's watermark, or else the source's only timestamp column. The column is a field
of the value, or one of the functions below of a field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from millstream.project.values import Column, Topic
from millstream.types import TIMESTAMP, TIMESTAMP_NTZ

Time = Callable[[Any, Any], int | None]
"""Returns milliseconds for a key and a value."""

_UNITS = {"timestamp_seconds": 1000.0, "timestamp_millis": 1.0, "timestamp_micros": 0.001}
_CALL = re.compile(r"\s*(\w+)\s*\(\s*`?(\w+)`?\s*\)\s*\Z")
_CAST = re.compile(
    r"\s*cast\s*\(\s*`?(\w+)`?\s+as\s+timestamp\s*\)\s*\Z|\s*to_timestamp\s*\(\s*`?(\w+)`?\s*\)\s*\Z",
    re.IGNORECASE,
)


def event_time(topic: Topic) -> Time | None:
    """Return a function from a record of a topic to its event time; None if there is no event time."""
    column = _column(topic)
    if column is None:
        return None
    sql = column.expression
    if sql is None:
        return _of_field(column.name, _milliseconds)
    if (call := _CALL.match(sql)) and (unit := _UNITS.get(call[1].lower())):
        return _of_field(call[2], lambda value: _scaled(value, unit))
    if cast := _CAST.match(sql):
        return _of_field(cast[1] or cast[2], _milliseconds)
    return None


def _column(topic: Topic) -> Column | None:
    by_name = {column.name.lower(): column for column in topic.columns}
    if topic.watermark is not None:
        return by_name.get(topic.watermark.column.lower())
    times = [column for column in topic.columns if _is_time(column)]
    return times[0] if len(times) == 1 else None


def _is_time(column: Column) -> bool:
    if column.type is not None:
        return column.type in {TIMESTAMP, TIMESTAMP_NTZ}
    return bool(column.expression and (_CALL.match(column.expression) or _CAST.match(column.expression)))


def _of_field(name: str, convert: Callable[[Any], int | None]) -> Time:
    def time(_: Any, value: Any) -> int | None:
        if not isinstance(value, Mapping):
            return None
        found = value.get(name)
        return None if found is None else convert(found)

    return time


def _scaled(value: Any, unit: float) -> int | None:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return _possible(float(value) * unit)
    return None


def _milliseconds(value: Any) -> int | None:
    """Return the time of a value: a datetime, ISO text, or seconds, as Spark casts numbers."""
    match value:
        case datetime():
            time = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
            return _possible(time.timestamp() * 1000)
        case date():
            return None
        case str():
            try:
                return _milliseconds(datetime.fromisoformat(value.replace("Z", "+00:00")))
            except ValueError:
                return None
        case _:
            return _scaled(value, 1000.0)


def _possible(milliseconds: float) -> int | None:
    # Kafka has no times before 1970.
    return int(milliseconds) if 0 <= milliseconds < 2**63 else None
