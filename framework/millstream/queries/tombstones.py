"""Which tombstones a query sends: those of rows that it sent, or one of each row that does not match.

A topic may have rows of an earlier version of a model. Until a new version has read what its sources hold, it
sends a tombstone for every row that does not match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from millstream.queries.emit.every_tombstone import EVERY, NEEDED, mark_of
from millstream.queries.emit.steps import SqlView
from millstream.queries.values import PerBatch, Query


def with_every_tombstone(query: Query) -> Query:
    """Return a query that sends a tombstone for every row that does not match."""
    return _with_sql(query, lambda sql: sql.replace(NEEDED, EVERY))


def without_copies(query: Query, names: Iterable[str]) -> Query:
    """Return a query whose state lacks the copies of aggregates that some columns need."""
    marks = [(mark_of(name), mark_of(name, copied=False)) for name in names]

    def changed(sql: str) -> str:
        for mark, without in marks:
            sql = sql.replace(mark, without)
        return sql

    return _with_sql(query, changed) if marks else query


def _with_sql(query: Query, changed: Callable[[str], str]) -> Query:
    steps = tuple(
        replace(step, sql=changed(step.sql)) if isinstance(step, SqlView) else step for step in query.steps
    )
    deliver = query.deliver
    if isinstance(deliver, PerBatch):
        deliveries = tuple(replace(delivery, sql=changed(delivery.sql)) for delivery in deliver.deliveries)
        deliver = replace(deliver, deliveries=deliveries)
    return replace(query, sql=changed(query.sql), steps=steps, deliver=deliver)
