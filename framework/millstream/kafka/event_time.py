"""The event time of a record, which becomes its timestamp.

It is the column of the source's watermark, or else the source's only timestamp column. The column is a field
of the value, or one of the functions below of a field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from msgspec import Struct

from millstream.core.types import TIMESTAMP, TIMESTAMP_NTZ
from millstream.project.values import DeclaredColumn, Topic


class EventTime(Struct, frozen=True):
    """The field of a value that has a record's event time."""

    field: str
    unit: float | None = None
    """Milliseconds of 1, if the field is a number for one of Spark's functions."""

    def of(self, value: Any) -> int | None:
        """Return the milliseconds of a record's event time."""
        time = value.get(self.field) if isinstance(value, Mapping) else None
        if time is None:
            return None
        return _milliseconds(time) if self.unit is None else _scaled(time, self.unit)

    def moved(self, value: Any, milliseconds: float) -> Any:
        """Return a copy of a value with another event time, written as the one it has.

        It has no parts of a millisecond: some formats can't hold them, nor can Kafka's timestamps.
        """
        return {**value, self.field: _written(value[self.field], int(milliseconds), self.unit or 1000.0)}


_UNITS = {"timestamp_seconds": 1000.0, "timestamp_millis": 1.0, "timestamp_micros": 0.001}
_CALL = re.compile(r"\s*(\w+)\s*\(\s*`?(\w+)`?\s*\)\s*\Z")
_CAST = re.compile(
    r"\s*cast\s*\(\s*`?(\w+)`?\s+as\s+timestamp\s*\)\s*\Z|\s*to_timestamp\s*\(\s*`?(\w+)`?\s*\)\s*\Z",
    re.IGNORECASE,
)


def event_time(topic: Topic) -> EventTime | None:
    column = _column(topic)
    if column is None:
        return None
    sql = column.expression
    if sql is None:
        return EventTime(column.name)
    if (call := _CALL.match(sql)) and (unit := _UNITS.get(call[1].lower())):
        return EventTime(call[2], unit)
    if cast := _CAST.match(sql):
        return EventTime(cast[1] or cast[2])
    return None


def _column(topic: Topic) -> DeclaredColumn | None:
    by_name = {column.name.lower(): column for column in topic.columns}
    if topic.watermark is not None:
        return by_name.get(topic.watermark.column.lower())
    times = [column for column in topic.columns if _is_time(column)]
    return times[0] if len(times) == 1 else None


def _is_time(column: DeclaredColumn) -> bool:
    if column.type is not None:
        return column.type in {TIMESTAMP, TIMESTAMP_NTZ}
    return bool(column.expression and (_CALL.match(column.expression) or _CAST.match(column.expression)))


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


def _written(like: Any, milliseconds: float, unit: float) -> Any:
    match like:
        case datetime():
            time = datetime.fromtimestamp(milliseconds / 1000, like.tzinfo or timezone.utc)
            return time if like.tzinfo else time.replace(tzinfo=None)
        case str():
            written = _written(
                datetime.fromisoformat(like.replace("Z", "+00:00")), milliseconds, unit
            ).isoformat()
            return written.replace("+00:00", "Z") if like.endswith("Z") else written
        case _:
            return type(like)(milliseconds / unit)


def _possible(milliseconds: float) -> int | None:
    # Kafka has no times before 1970.
    return int(milliseconds) if 0 <= milliseconds < 2**63 else None
