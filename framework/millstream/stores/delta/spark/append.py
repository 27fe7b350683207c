"""Appends the rows of a batch to a table without a key, once, and replaces those of a range."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from millstream.plan.time_ranges import TimeRange
from millstream.queries.values import TableOutput
from millstream.stores.deletions import deleted_sql
from millstream.stores.delta.spark import table
from millstream.stores.retention import NewestTime, current_limit, with_retention
from millstream.stores.spark import TableBatch

_REQUESTS = "_millstream_requests"
"""The view of a batch's requests to delete rows."""


def append_rows(
    rows: DataFrame,
    output: TableOutput,
    path: str,
    batch: TableBatch,
    newest: Callable[[], NewestTime | None],
) -> None:
    """Append the rows of a batch that are not too old; `newest` is the newest time before the batch."""
    session = rows.sparkSession
    with with_retention(rows, output, newest, local=batch.local) as (retained, limit):
        if limit is not None:
            table.write_newest(session, path, limit.newest)
        appended = retained
        if batch.deletes:
            _delete_requested(retained.where("_deleted"), output, path, batch)
            appended = retained.where("not _deleted").drop("_deleted")
        with table.skip_repeated(session, batch.writer, batch.number):
            appended.write.format("delta").mode("append").save(path)


def replace_rows(rows: DataFrame, output: TableOutput, path: str, part: TimeRange) -> None:
    """Replace the rows of a range in one commit, without those that are too old.

    Delta writes only the files again that have rows of the range (DeleteCommand), none of other partitions.
    """
    session = rows.sparkSession

    def newest() -> NewestTime | None:
        return table.read_newest(session, output, path)

    with with_retention(rows, output, newest, local=False) as (retained, _):
        writer = retained.write.format("delta").mode("overwrite")
        writer.option("replaceWhere", part.condition).save(path)


def _delete_requested(requests: DataFrame, output: TableOutput, path: str, batch: TableBatch) -> None:
    """Delete the rows that requests name, before those of the batch are appended.

    A repeated batch deletes them again, which changes nothing: later batches have no rows yet.
    """
    session = requests.sparkSession
    requests.createOrReplaceTempView(_REQUESTS)
    deleted = deleted_sql(output, "old", "request")
    with table.reading_source_again(session, allowed=batch.local):
        session.sql(
            f"merge into {table.table_at(path)} as old using {_REQUESTS} as request on {deleted} "
            "when matched then delete"
        )


def delete_expired(session: SparkSession, output: TableOutput, path: str) -> None:
    """Delete rows older than `retention`: files of which all rows are older are not read for that."""
    newest = table.read_newest(session, output, path)
    if limit := current_limit(table.read_rows(session, path), output, newest):
        session.sql(f"delete from {table.table_at(path)} where {limit.expired()}")  # noqa: S608
