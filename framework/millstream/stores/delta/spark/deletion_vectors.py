"""Lets a MERGE mark the rows of a large table that it replaces, instead of writing their files again.

Writing a small table again costs little, and delta-rs stores its small batches (`small.py`).
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.stores.delta.spark import small_tables
from millstream.stores.delta.spark.table import table_at
from millstream.stores.delta.spark.versions import is_true, load_snapshot

_ENABLED = "delta.enableDeletionVectors"


def settle_vectors(session: SparkSession, path: str, *, allowed: bool) -> None:
    """Let batches mark rows from now on if the table is large, or no longer if that is not allowed."""
    table_snapshot = load_snapshot(session, path)
    enabled = is_true(table_snapshot, _ENABLED)
    should_mark = allowed and (enabled or int(table_snapshot.sizeInBytes()) > small_tables.LARGEST)
    if should_mark != enabled:
        session.sql(
            f"alter table {table_at(path)} set tblproperties ('{_ENABLED}' = '{str(should_mark).lower()}')"
        )
