"""Replaces calls of the clock in SQL by the time that a test sets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from millstream.queries.emit.steps import SqlView
from millstream.queries.values import PerBatch, Query
from millstream.sql.call_pieces import split_sql

_WITHOUT_PARENTHESES = frozenset(("current_timestamp", "localtimestamp", "current_date"))


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
        parts = split_sql(text)
        replaced: list[str] = []
        index = 0
        while index < len(parts):
            stop = _end_of_call(parts, index)
            time = self.texts.get(parts[index].lower()) if parts[index - 1 : index] != ["."] else None
            replaced.append(parts[index] if time is None or stop == index else time)
            index = index + 1 if time is None or stop == index else stop
        return "".join(replaced)


def _end_of_call(parts: Sequence[str], index: int) -> int:
    """Return the index after a call without arguments; `index` itself if there is none."""
    following = [i for i in range(index + 1, min(index + 5, len(parts))) if not parts[i].isspace()][:2]
    signs = [parts[i] for i in following]
    if signs == ["(", ")"]:
        return following[1] + 1
    return index + 1 if parts[index].lower() in _WITHOUT_PARENTHESES and signs[:1] != ["("] else index
