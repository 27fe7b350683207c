"""The versions of an Iceberg table: which one is the newest, its rows, and what changed between two.

A version is a snapshot, and its number is the sequence number. Iceberg records which files a snapshot adds
and removes, not which rows changed: most rows of files that batches write again are in a removed file, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.core.types import has_equality
from millstream.plan.nodes import Column
from millstream.stores.iceberg.spark.files import StoredFile, files_of_table, read_files, selected_rows
from millstream.stores.iceberg.spark.table import stored_columns
from millstream.stores.spark import KIND, TableVersion

_SIGN = "_millstream_sign"
"""1 for a row of an added file, and -1 for one of a removed file."""


def newest_version(table: Any) -> TableVersion:
    snapshot = table.currentSnapshot()
    return TableVersion(str(table.uuid()), 0 if snapshot is None else int(snapshot.sequenceNumber()))


def has_version(table: Any, version: int) -> bool:
    return version == 0 or _snapshot(table, version) is not None


def rows_at(session: SparkSession, table: Any, version: int, columns: Iterable[Column]) -> DataFrame:
    return selected_rows(_read(session, table, _files(table, version), version), columns)


def changed_rows(session: SparkSession, table: Any, after: int, until: int) -> DataFrame:
    """Return the rows of files that only one of two versions has, without those that are on both sides."""
    before, now = _files(table, after), _files(table, until)
    removed, added = _without(before, now), _without(now, before)
    new = _read(session, table, added, until)
    if not removed:
        return new.withColumn(KIND, f.lit("insert"))
    old = _read(session, table, removed, until)
    names = [f.col(quote_name(name)) for name in new.columns]
    changed = new.withColumn(_SIGN, f.lit(1)).unionAll(old.withColumn(_SIGN, f.lit(-1)))
    if all(has_equality(type_) for _, type_ in stored_columns(session, table)):
        signs = changed.groupBy(*names).agg(f.sum(_SIGN).alias(_SIGN)).where(f"{_SIGN} <> 0")
        copies = f.array_repeat(f.sign(_SIGN), f.abs(_SIGN).cast("int"))
        changed = signs.select(*names, f.explode(copies).alias(_SIGN))
    return changed.select(*names, f.when(f.col(_SIGN) > 0, "insert").otherwise("delete").alias(KIND))


def _read(session: SparkSession, table: Any, files: Iterable[StoredFile], version: int) -> DataFrame:
    """Return the rows of files, with the columns that the table had at a version."""
    snapshot = _snapshot(table, version)
    newest = table.currentSnapshot()
    if snapshot is None or snapshot.snapshotId() == newest.snapshotId():
        return read_files(session, table, files)  # columns may have been added since its snapshot
    return read_files(session, table, files, table.schemas().get(snapshot.schemaId()))


def _files(table: Any, version: int) -> list[StoredFile]:
    snapshot = _snapshot(table, version)
    return [] if snapshot is None else files_of_table(table, snapshot.snapshotId())


def _without(files: Iterable[StoredFile], others: Iterable[StoredFile]) -> list[StoredFile]:
    paths = {file.path for file in others}
    return [file for file in files if file.path not in paths]


def _snapshot(table: Any, version: int) -> Any | None:
    """Return the snapshot with a sequence number; None if it has expired."""
    snapshots = table.snapshots()  # the oldest first
    for index in range(len(snapshots) - 1, -1, -1):
        snapshot = snapshots[index]
        if int(snapshot.sequenceNumber()) == version:
            return snapshot
    return None
