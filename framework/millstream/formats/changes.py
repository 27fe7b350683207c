"""Records that are changes of rows: the row before and after, as Debezium writes them in JSON."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.core.expressions import Piece, join_pieces
from millstream.core.types import BIGINT, STRING, Field, Row
from millstream.formats.format import Fields, Item
from millstream.formats.sql import struct_sql

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


def encode_row(items: Sequence[Item]) -> tuple[Piece, ...]:
    """Return the SQL of a row in a change: unlike in other records, fields that are NULL are there."""
    return join_pieces(("encode_json(", *struct_sql(items), ", 'all')"))


def envelope_fields(columns: Fields) -> Fields:
    """Return the fields of a record about rows with these columns."""
    row = Row(tuple(columns))
    return (
        Field("before", row),
        Field(AFTER, row),
        Field("source", _SOURCE, nullable=False),
        Field("op", STRING, nullable=False),
        Field("ts_ms", BIGINT, nullable=False),
    )
