"""The records of a sink over a table as changes: the row before and after, in JSON as Debezium writes it.

A delete is followed by a record without a value, a tombstone, so that a compacted topic drops the key. The
row before a change is that of the version to which the last batch has brought readers: what they have.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from millstream import __version__
from millstream.formats.changes import CREATED, DELETED, READ, UPDATED

HAD = "_had"
"""The column with the contents of a record as it was before the batch, NULL if there was none."""


class FollowedBatch(Struct, frozen=True):
    """A batch of a query that follows a table."""

    started: int
    """When it was planned, in milliseconds since 1970; a repeated batch has the same time."""
    version: int
    """The version of the table to which it brings readers."""
    committed: int
    """The time of that version."""
    first: bool
    """It may have rows that the table had when the query began to follow it."""


def source_of(project: str, table: str, batch: FollowedBatch) -> dict[str, Any]:
    """Return where changes come from, in Debezium's words; `lsn` is the version of the table."""
    return {
        "version": __version__,
        "connector": "millstream",
        "name": project,
        "ts_ms": batch.committed,
        "snapshot": "false",
        "db": project,
        "table": table.partition(".")[2],
        "lsn": batch.version,
    }


def change_records(
    records: DataFrame, source: dict[str, Any], batch: FollowedBatch, *, tombstones: bool
) -> DataFrame:
    """Return changes for records and tombstones, which `HAD` precedes.

    If the row before a delete is unknown, its tombstone alone is sent: only the first batch has such deletes,
    of keys that an earlier version may have sent.
    """
    value, before = f.col("value"), f.col(f"{HAD}.value")
    has_before = f.col(HAD).isNotNull()
    new = READ if batch.first else CREATED
    kind = f.when(value.isNull(), DELETED).when(has_before, UPDATED).otherwise(new)
    read = _json(source | {"snapshot": "true"})
    from_table = f.when(kind == READ, read).otherwise(_json(source))
    change = f.concat(
        _text('{"before":'), f.coalesce(before, _text("null")),
        _text(',"after":'), f.coalesce(value, _text("null")),
        _text(',"source":'), from_table,
        _text(',"op":"'), kind.cast("binary"), _text(f'","ts_ms":{batch.started}}}'),
    )  # fmt: skip
    changed, tombstone = _record(records, change), _record(records, value)
    sent = f.array(changed)
    if tombstones:
        of_delete = f.when(has_before, f.array(changed, tombstone)).otherwise(f.array(tombstone))
        sent = f.when(value.isNull(), of_delete).otherwise(sent)
    # The two records of a delete stay next to each other, in this order.
    return records.select(f.inline(sent))


def _record(records: DataFrame, value: Column) -> Column:
    fields = (
        value.alias(name) if name == "value" else f.col(name) for name in records.columns if name != HAD
    )
    return f.struct(*fields)


def _json(value: dict[str, Any]) -> Column:
    return _text(msgspec.json.encode(value).decode())


def _text(text: str) -> Column:
    return f.lit(text).cast("binary")
