"""Removes files that only old versions of a table need, and combines small ones, so that folders stay small.

Each batch writes new files. Those that they replace remain, for readers that have begun with an older version
and for queries that follow the table.
"""

from __future__ import annotations

from contextlib import suppress

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from pyspark.sql import SparkSession

from millstream.core.byte_sizes import bytes_of
from millstream.plan.durations import duration_millis
from millstream.queries.values import TableOutput
from millstream.stores.deletions import files_must_go, note_removal, now_millis
from millstream.stores.delta.spark import small_tables
from millstream.stores.delta.spark.append import delete_expired
from millstream.stores.delta.spark.table import table_at
from millstream.stores.session_settings import use_settings

EVERY = 50
"""The number of batches between two times."""
_HOUR = 3_600_000
_RETENTION, _RETENTION_FOLLOWED = "1 hour", "1 day"
"""By default; a query that follows a table reads them later, if it was stopped."""
_MANY = 20
"""More files than that, if they are small, are combined."""
_LEAST, _PARTS = 16 << 20, 1_000
"""A combined file has so many bytes, or such a part of a large table: a batch reads and writes only files
that can have its keys, and these as a whole."""
_OF_APPENDED = "128 MB"
"""The size of combined files of tables whose rows stay, by default."""
_SIZES = "spark.databricks.delta.optimize"
_VACUUM = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # By default, Spark lists the files of a table with 10,000 tasks, which take half a minute.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}


def is_due(session: SparkSession, table: TableOutput, path: str, retention: str | None, number: int) -> bool:
    """Return whether a batch with this number is followed by `compact_table`."""
    if number > 0 and number % EVERY == 0:
        return True
    kept_for = _hours(retention, followed=False) * _HOUR
    return table.deletes_on_request and files_must_go(session, path, kept_for)


def compact_table(session: SparkSession, table: TableOutput, path: str, retention: str | None) -> None:
    """Combine small files of a table, and remove old ones; nothing else may write it meanwhile."""
    began, hours = now_millis(), _compact_table(session, table, path, retention)
    if table.deletes_on_request:
        note_removal(session, path, began - hours * _HOUR)


def _compact_table(session: SparkSession, table: TableOutput, path: str, retention: str | None) -> int:
    """Do that, and return for how many hours old files are kept."""
    if (delta_table := small_tables.open_shared(session, table, path)) is not None:
        return _tend_here(delta_table, table, retention)
    feed = session.sql(f"show tblproperties {table_at(path)} ('{small_tables.FEED}')").collect()
    hours = _hours(retention, followed=bool(feed) and feed[0].value == "true")
    if table.appends and table.options.get("retention"):
        delete_expired(session, table, path)
    large = _file_size(table, session.sql(f"describe detail {table_at(path)}").collect()[0].sizeInBytes)
    sizes = {f"{_SIZES}.maxFileSize": str(large), f"{_SIZES}.minFileSize": str(large // 2)}
    with use_settings(session, sizes | _VACUUM):
        session.sql(f"optimize {table_at(path)}")
        session.sql(f"vacuum {table_at(path)} retain {hours} hours")
    return hours


def _tend_here(delta_table: DeltaTable, table: TableOutput, retention: str | None) -> int:
    sizes = small_tables.file_sizes(delta_table)
    large = _file_size(table, sum(sizes))
    if sum(size < large // 2 for size in sizes) > _MANY:
        # If another writer was first, there is a next time.
        with suppress(CommitFailedError):
            delta_table.optimize.compact(
                target_size=large, writer_properties=small_tables.writer_properties(table)
            )
    hours = _hours(retention, followed=delta_table.metadata().configuration.get(small_tables.FEED) == "true")
    # `full` finds the files of the change feed, too.
    delta_table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
    return hours


def _file_size(table: TableOutput, total: int) -> int:
    """Return the bytes that a combined file has at most, in a table of this size."""
    if table.appends:
        return bytes_of(table.options.get("target_file_size") or _OF_APPENDED)
    return max(_LEAST, total // _PARTS)


def _hours(retention: str | None, *, followed: bool) -> int:
    """Return whole hours, rounded up."""
    return -(-duration_millis(retention or (_RETENTION_FOLLOWED if followed else _RETENTION)) // _HOUR)
