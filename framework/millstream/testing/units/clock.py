"""Replaces calls of the clock in SQL by the time that a test sets."""

from __future__ import annotations

import re
from datetime import datetime

from msgspec.structs import replace

from millstream.queries.emit.steps import SqlView
from millstream.queries.values import PerBatch, Query

_CLOCK_CALL = re.compile(
    r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)"""
    r"""|\b(current_timestamp|now|localtimestamp|current_date|curdate|unix_timestamp)\s*\(\s*\)"""
    r"""|(?<![\w.`])(current_timestamp|localtimestamp|current_date)\b(?!\s*\()""",
    re.IGNORECASE,
)


def freeze_clock(query: Query, now: datetime | None) -> Query:
    """Return a query in which the clock always shows `now`; None leaves it as it is."""
    if now is None:
        return query
    clock = _Clock(now)
    steps = tuple(
        replace(step, sql=clock.sql(step.sql)) if isinstance(step, SqlView) else step for step in query.steps
    )
    deliver = query.deliver
    if isinstance(deliver, PerBatch):
        deliveries = tuple(replace(delivery, sql=clock.sql(delivery.sql)) for delivery in deliver.deliveries)
        deliver = replace(deliver, deliveries=deliveries)
    maintaining = query.maintaining
    if maintaining is not None:
        full_sql = clock.sql(maintaining.maintenance.all_rows)
        maintaining = replace(maintaining, maintenance=replace(maintaining.maintenance, all_rows=full_sql))
    return replace(query, sql=clock.sql(query.sql), steps=steps, deliver=deliver, maintaining=maintaining)


class _Clock:
    def __init__(self, now: datetime) -> None:
        stamp = f"timestamp '{now.isoformat(sep=' ')}'"
        self.texts = {
            "current_timestamp": stamp,
            "now": stamp,
            "localtimestamp": f"cast({stamp} as timestamp_ntz)",
            "current_date": f"cast({stamp} as date)",
            "curdate": f"cast({stamp} as date)",
            "unix_timestamp": f"{int(now.timestamp())}L",
        }

    def sql(self, text: str) -> str:
        return _CLOCK_CALL.sub(self._replacement, text)

    def _replacement(self, match: re.Match[str]) -> str:
        if match[1]:
            return match[0]
        return self.texts[(match[2] or match[3]).lower()]
