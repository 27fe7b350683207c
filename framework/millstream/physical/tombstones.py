"""Which tombstones a query sends: those of rows that it sent, or one of each row that does not match.

A topic may have rows of an earlier version of a model. Until a new version has read what its sources hold, it
sends a tombstone for every row that does not match.
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.physical.emit.every_tombstone import EVERY, NEEDED
from millstream.physical.emit.steps import SqlView
from millstream.physical.values import PerBatch, Query


def with_every_tombstone(query: Query) -> Query:
    """Return a query that sends a tombstone for every row that does not match."""
    steps = tuple(
        replace(step, sql=_every(step.sql)) if isinstance(step, SqlView) else step for step in query.steps
    )
    deliver = query.deliver
    if isinstance(deliver, PerBatch):
        deliveries = tuple(replace(each, sql=_every(each.sql)) for each in deliver.deliveries)
        deliver = replace(deliver, deliveries=deliveries)
    return replace(query, sql=_every(query.sql), steps=steps, deliver=deliver)


def _every(sql: str) -> str:
    return sql.replace(NEEDED, EVERY)
