"""Removes files that only old versions of a table need, and combines small ones, so that folders stay small.

Each batch writes new files. Those that they replace remain, for readers that have begun with an older version
and for queries that follow the table.
"""

from __future__ import annotations

from contextlib import suppress

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from pyspark.sql import SparkSession

from millstream.plan.durations import duration_millis
from millstream.queries.values import TableOutput
from millstream.stores.deletions import files_must_go, note_removal, now_millis
from millstream.stores.delta.spark import small_tables
from millstream.stores.delta.spark.append import delete_expired
from millstream.stores.delta.spark.table import table_at
from millstream.stores.delta.spark.versions import is_true, load_snapshot
from millstream.stores.file_sizes import combines_after, file_size, has_many_small
from millstream.stores.session_settings import use_settings

_HOUR = 3_600_000
_RETENTION, _RETENTION_FOLLOWED = "1 hour", "1 day"
"""By default; a query that follows a table reads them later, if it was stopped."""
_SIZES = "spark.databricks.delta.optimize"
_VACUUM = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # By default, Spark lists the files of a table with 10,000 tasks, which take half a minute.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}


def is_due(session: SparkSession, table: TableOutput, path: str, retention: str | None, number: int) -> bool:
    """Return whether a batch with this number is followed by `compact_table`."""
    if combines_after(number):
        return True
    if not table.deletes_on_request:
        return False
    if not files_must_go(session, path, kept_for(retention, followed=False)):
        return False
    followed = is_true(load_snapshot(session, path), small_tables.FEED)
    return files_must_go(session, path, kept_for(retention, followed=followed))


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
    large = file_size(table, session.sql(f"describe detail {table_at(path)}").collect()[0].sizeInBytes)
    sizes = {f"{_SIZES}.maxFileSize": str(large), f"{_SIZES}.minFileSize": str(large // 2)}
    with use_settings(session, sizes | _VACUUM):
        session.sql(f"optimize {table_at(path)}")
        session.sql(f"vacuum {table_at(path)} retain {hours} hours")
    return hours


def _tend_here(delta_table: DeltaTable, table: TableOutput, retention: str | None) -> int:
    sizes = small_tables.file_sizes(delta_table)
    large = file_size(table, sum(sizes))
    if has_many_small(sizes, large):
        # If another writer was first, there is a next time.
        with suppress(CommitFailedError):
            delta_table.optimize.compact(
                target_size=large, writer_properties=small_tables.writer_properties(table)
            )
    hours = _hours(retention, followed=delta_table.metadata().configuration.get(small_tables.FEED) == "true")
    # `full` finds the files of the change feed, too.
    delta_table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
    return hours


def kept_for(retention: str | None, *, followed: bool) -> int:
    """Return for how many milliseconds old files are kept."""
    return _hours(retention, followed=followed) * _HOUR


def _hours(retention: str | None, *, followed: bool) -> int:
    """Return whole hours, rounded up."""
    return -(-duration_millis(retention or (_RETENTION_FOLLOWED if followed else _RETENTION)) // _HOUR)
