"""Combines small files of an Iceberg table, and removes old snapshots with the files that only they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.core.expressions import quote_name
from millstream.plan.durations import duration_millis
from millstream.queries.values import TableOutput
from millstream.stores.deletions import files_must_go, note_removal, now_millis
from millstream.stores.file_sizes import file_size, has_many_small, is_small
from millstream.stores.iceberg.spark.address import Address, removes_files
from millstream.stores.iceberg.spark.commits import commit_files, folder_of, stored_newest
from millstream.stores.iceberg.spark.files import StoredFile, files_of_table, read_files, write_files
from millstream.stores.iceberg.spark.merge import expired_files
from millstream.stores.iceberg.spark.partitions import partition_values
from millstream.stores.iceberg.spark.table import stored_columns
from millstream.stores.retention import current_limit
from millstream.stores.spark import TableBatch

_RETENTION = "1 hour"


def compact_table(session: SparkSession, output: TableOutput, table: Any, batch: TableBatch) -> None:
    """Combine small files of a table; nothing else may write it meanwhile."""
    if output.appends and output.options.get("retention"):
        _delete_expired(session, output, table, batch)
        table.refresh()
    files = files_of_table(table)
    target = file_size(output, sum(file.size for file in files))
    if has_many_small((file.size for file in files), target):
        small = [file for file in files if is_small(file.size, target)]
        _combine(session, output, table, small, target, batch)


def must_go(session: SparkSession, output: TableOutput, address: Address, retention: str | None) -> bool:
    """Return whether old snapshots have rows that should be gone by now."""
    kept_for = duration_millis(retention or _RETENTION)
    return output.deletes_on_request and files_must_go(session, address.folder(), kept_for)


def remove_old_snapshots(
    session: SparkSession, output: TableOutput, table: Any, address: Address, retention: str | None
) -> None:
    """Remove old snapshots with the files that only they need."""
    if not removes_files(table):
        return
    oldest = now_millis() - duration_millis(retention or _RETENTION)
    expiring = table.expireSnapshots().expireOlderThan(oldest).retainLast(1).cleanExpiredFiles(True)
    for id_ in _older_snapshots(table, oldest):
        # By a limit of time, files would stay that the newest snapshot has replaced, until it expires, too.
        expiring = expiring.expireSnapshotId(id_)
    expiring.commit()
    if output.deletes_on_request:
        note_removal(session, address.folder(), oldest)


def _older_snapshots(table: Any, oldest: int) -> list[int]:
    """Return the snapshots before the newest one that are older than a time."""
    newest = table.currentSnapshot()
    snapshots = table.snapshots().iterator()
    older = []
    while snapshots.hasNext():
        snapshot = snapshots.next()
        if snapshot.timestampMillis() < oldest and snapshot.snapshotId() != newest.snapshotId():
            older.append(snapshot.snapshotId())
    return older


def _delete_expired(session: SparkSession, output: TableOutput, table: Any, batch: TableBatch) -> None:
    """Delete rows older than `retention`, in files that have some."""
    stored = read_files(session, table, files_of_table(table))
    limit = current_limit(stored, output, stored_newest(table, output))
    if limit is None or not (expired := expired_files(table, stored, limit)):
        return
    recent = read_files(session, table, expired).where(f"not {limit.expired()}")
    commit_files(table, write_files(recent, table, _folder_of(table, batch, "retention")), {}, expired)


def _combine(
    session: SparkSession,
    output: TableOutput,
    table: Any,
    small: Sequence[StoredFile],
    target: int,
    batch: TableBatch,
) -> None:
    rows = read_files(session, table, small)
    count = -(-sum(file.size for file in small) // target)
    rows = _arranged(rows, output, table, count)
    written = write_files(rows, table, _folder_of(table, batch, "combined"))
    rewrite = table.newRewrite()
    for file in small:
        rewrite = rewrite.deleteFile(file.java)
    for file in written:
        rewrite = rewrite.addFile(file.java)
    rewrite.commit()


def _arranged(rows: DataFrame, output: TableOutput, table: Any, count: int) -> DataFrame:
    """Put rows that belong into one file next to each other."""
    types = {name.lower(): type_ for name, type_ in stored_columns(rows.sparkSession, table)}
    if partitions := partition_values(rows.sparkSession, table, types):
        return rows.repartition(count, *partitions).sortWithinPartitions(*partitions)
    if clusters := [quote_name(name) for name in output.options.get("cluster_by") or ()]:
        return rows.repartitionByRange(count, *clusters).sortWithinPartitions(*clusters)
    return rows.coalesce(count)


def _folder_of(table: Any, batch: TableBatch, purpose: str) -> str:
    """Return the folder of files that replace some of the newest snapshot's.

    A batch that is repeated after that was committed has another snapshot: it must not overwrite the files
    that the table has by now.
    """
    return folder_of(batch.writer, batch.number, purpose, table.currentSnapshot().snapshotId())
