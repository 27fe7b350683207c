"""Records that are changes of rows: the row before and after, as Debezium writes them in JSON."""

from __future__ import annotations

from millstream.formats.format import Fields
from millstream.types import BIGINT, STRING, Field, Row

AFTER = "after"
"""The field with the row after a change; NULL if it was deleted."""
CREATED, UPDATED, DELETED, READ = "c", "u", "d", "r"
"""What happened to a row: `op`. A row that was there before is read."""
_SOURCE = Row((
    Field("version", STRING),
    Field("connector", STRING),
    Field("name", STRING),
    Field("ts_ms", BIGINT),
    Field("snapshot", STRING),
    Field("db", STRING),
    Field("table", STRING),
    Field("lsn", BIGINT),
))  # fmt: skip


def envelope(columns: Fields) -> Fields:
    """Return the fields of a record about rows with these columns."""
    row = Row(tuple(columns))
    return (
        Field("before", row),
        Field(AFTER, row),
        Field("op", STRING, nullable=False),
        Field("source", _SOURCE, nullable=False),
        Field("ts_ms", BIGINT, nullable=False),
    )
