"""Stores batches in an Iceberg table: appends rows, or writes files with rows of the same keys again.

The rows of a range are replaced in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.plan.time_ranges import TimeRange
from millstream.queries.values import TableOutput
from millstream.stores.deletions import deleted_sql
from millstream.stores.iceberg.spark.commits import (
    commit_files,
    folder_of,
    last_batch,
    record_of,
    stored_newest,
)
from millstream.stores.iceberg.spark.files import (
    StoredFile,
    files_of_table,
    files_with,
    read_files,
    read_rows,
    with_file,
    write_files,
)
from millstream.stores.key_ranges import key_ranges
from millstream.stores.retention import NewestTime, RetentionLimit, newest_time, with_retention
from millstream.stores.spark import TableBatch

_OLD, _NEW = "_millstream_old", "_millstream_new"
"""Columns by which a row of a full join shows which sides it is from."""


def store_batch(rows: DataFrame, output: TableOutput, table: Any, batch: TableBatch) -> None:
    """Store a batch, unless the table already has it."""
    if last_batch(table, batch.writer) >= batch.number:
        return
    session = rows.sparkSession

    def newest() -> NewestTime | None:
        return None if batch.new else _newest(session, output, table)

    with with_retention(rows, output, newest, local=batch.local) as (retained, limit):
        record = record_of(batch, limit.newest if limit else None)
        summary = {"millstream.writer": batch.writer, "millstream.batch": batch.number}
        folder = folder_of(batch.writer, batch.number)
        if output.appends and batch.deletes:
            with _computed_once(retained, local=batch.local) as changes:
                touched, remaining = _without_deleted(changes, output, table)
                appended = changes.where("not _deleted").drop("_deleted")
                written = write_files(
                    remaining.unionByName(appended, allowMissingColumns=True), table, folder
                )
                commit_files(table, written, record, touched, summary)
            return
        if output.appends or batch.new:
            first = retained.where("not _deleted").drop("_deleted") if batch.deletes else retained
            commit_files(table, write_files(first, table, folder), record, summary=summary)
            return
        with _computed_once(retained, local=batch.local) as changes:
            touched = _touched_files(changes, output, table, batch, limit)
            merged = _merged_rows(changes, read_files(session, table, touched), output, batch)
            if limit is not None:
                merged = merged.where(f"not {limit.expired()}")
            written = write_files(merged, table, folder)
            commit_files(table, written, record, touched, summary)


def replace_rows(rows: DataFrame, output: TableOutput, table: Any, part: TimeRange) -> None:
    """Replace the rows of a range in one snapshot, without those that are too old."""
    session, files = rows.sparkSession, files_of_table(table)
    with with_retention(rows, output, lambda: _newest(session, output, table), local=False) as (retained, _):
        touched: list[StoredFile] = []
        if files:
            touched = files_with(with_file(read_files(session, table, files)).where(part.condition), files)
        others = read_files(session, table, touched).where(f"not coalesce({part.condition}, false)")
        # The folder is named by the version that is replaced: files of a later one are not written over.
        snapshot = table.currentSnapshot()
        folder = folder_of("range", snapshot and snapshot.snapshotId(), part)
        written = write_files(others.unionByName(retained, allowMissingColumns=True), table, folder)
        summary = {"millstream.range": f"{part.column} from {part.start} to {part.end}"}
        commit_files(table, written, {}, touched, summary)


def _newest(session: SparkSession, output: TableOutput, table: Any) -> NewestTime | None:
    return stored_newest(table, output) or newest_time(read_rows(session, table), output)


def expired_files(table: Any, rows: DataFrame, limit: RetentionLimit) -> list[StoredFile]:
    """Return the files that have rows which are too old; `rows` are all of the table."""
    return files_with(with_file(rows).where(limit.expired()), files_of_table(table))


@contextmanager
def _computed_once(rows: DataFrame, *, local: bool) -> Iterator[DataFrame]:
    """Compute the rows of a batch once, though they are read twice."""
    if local:
        yield rows
        return
    rows.persist()
    try:
        yield rows
    finally:
        rows.unpersist()


def _touched_files(
    rows: DataFrame, output: TableOutput, table: Any, batch: TableBatch, limit: RetentionLimit | None
) -> list[StoredFile]:
    """Return the files with rows of a key of the batch, and with rows that are now too old."""
    files = files_of_table(table)
    if not files:
        return []
    stored = with_file(read_files(rows.sparkSession, table, files))
    near: Sequence[str] = ()
    if batch.local:
        types = {field.name.lower(): field.dataType for field in stored.schema}
        names = {quote_name(key): key for key in output.keys}
        near = key_ranges(rows, names, {quote_name(key): types[key.lower()] for key in output.keys})
    candidates = stored.where(" and ".join(near)) if near else stored
    on = f.expr(_same_keys(output))
    touched = candidates.alias("old").join(rows.alias("new"), on, "left_semi")
    if limit is not None:
        touched = touched.select("_file").unionAll(stored.where(limit.expired()).select("_file"))
    return files_with(touched, files)


def _merged_rows(rows: DataFrame, stored: DataFrame, output: TableOutput, batch: TableBatch) -> DataFrame:
    """Return the rows of files in which a batch has keys, as they are after it."""
    newer = "true"
    if order_by := output.options.get("order_by"):
        column = quote_name(order_by)
        newer = f"(old.{column} is null or new.{column} >= old.{column})"
    joined = (
        stored.withColumn(_OLD, f.lit(True))
        .alias("old")
        .join(rows.withColumn(_NEW, f.lit(True)).alias("new"), f.expr(_same_keys(output)), "full_outer")
    )
    replaces = f"(new.{_NEW} is not null and (old.{_OLD} is null or coalesce({newer}, false)))"
    if batch.deletes:
        joined = joined.where(f"not ({replaces} and new._deleted)")
    columns = {column.name.lower() for column in output.columns}
    return joined.select(
        *(
            f.expr(f"if({replaces}, new.{quote_name(name)}, old.{quote_name(name)})").alias(name)
            if name.lower() in columns
            else f.expr(f"old.{quote_name(name)}").alias(name)
            for name in stored.columns
        )
    )


def _without_deleted(rows: DataFrame, output: TableOutput, table: Any) -> tuple[list[StoredFile], DataFrame]:
    """Return the files with rows that those with `_deleted` delete, and the other rows of these files."""
    on = f.expr(deleted_sql(output, "old", "new"))
    requests, files = rows.where("_deleted").alias("new"), files_of_table(table)
    touched: list[StoredFile] = []
    if files:
        stored = with_file(read_files(rows.sparkSession, table, files)).alias("old")
        touched = files_with(stored.join(requests, on, "left_semi"), files)
    of_touched = read_files(rows.sparkSession, table, touched).alias("old")
    return touched, of_touched.join(requests, on, "left_anti")


def _same_keys(output: TableOutput) -> str:
    return " and ".join(f"old.{quote_name(key)} <=> new.{quote_name(key)}" for key in output.keys)
