"""Iceberg tables with Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import TimeRange
from millstream.project.values import Target
from millstream.queries.values import TableOutput
from millstream.stores.deletions import note_deletion
from millstream.stores.file_sizes import combines_after
from millstream.stores.folders import TableFolder
from millstream.stores.hadoop_files import files_of
from millstream.stores.iceberg.folder import iceberg_folder
from millstream.stores.iceberg.spark import commits, files, merge, old_files, swap, table
from millstream.stores.note_files import read_note_file, write_note_file
from millstream.stores.spark import MAINTAINED, CopiedRows, SparkTables, StoredNote, TableBatch, TableVersion


class IcebergTables(Struct, frozen=True):
    folder: TableFolder
    spark: SparkSession
    old_snapshots: str | None = None
    """For how long old snapshots are kept; None for the default."""

    def create(self, output: TableOutput, *, changes: bool) -> bool:  # noqa: ARG002 -- there is no change feed
        path = self.folder.written(output.model)
        new = table.create_table(self.spark, output, path)
        if old_files.must_go(self.spark, output, path, self.old_snapshots):
            self._remove_old_snapshots(self.spark, output, path)
        return new

    def merge(self, rows: DataFrame, output: TableOutput, batch: TableBatch) -> None:
        session, path = rows.sparkSession, self.folder.written(output.model)
        merge.store_batch(rows, output, _opened(session, path), batch)
        if output.deletes_on_request and batch.deletes:
            note_deletion(session, path)
        combines = combines_after(batch.number)
        if combines:
            old_files.compact_table(session, output, _opened(session, path), batch)
        if combines or old_files.must_go(session, output, path, self.old_snapshots):
            self._remove_old_snapshots(session, output, path)

    def replace_range(self, rows: DataFrame, output: TableOutput, part: TimeRange) -> None:
        session, path = rows.sparkSession, self.folder.written(output.model)
        merge.replace_rows(rows, output, _opened(session, path), part)

    def _remove_old_snapshots(self, session: SparkSession, output: TableOutput, path: str) -> None:
        old_files.remove_old_snapshots(session, output, _opened(session, path), path, self.old_snapshots)

    def swap(self, new: TableOutput, output: TableOutput, id_: str, *, changes: bool) -> None:  # noqa: ARG002
        paths = self.folder.written(new.model), self.folder.written(output.model)
        swap.swap_tables(self.spark, output, *paths, swap=id_)

    def copy(self, output: TableOutput, to: TableOutput) -> None:
        swap.copy_table(self.spark, output, self.folder.written(output.model), self.folder.written(to.model))

    def drop(self, output: TableOutput) -> None:
        path = self.folder.written(output.model)
        files_of(path, self.spark).remove(path)

    def has_rows(self, output: TableOutput) -> bool:
        opened = table.open_table(self.spark, self.folder.written(output.model))
        return opened is not None and _summed(opened, "total-records") > 0

    def exists(self, relation: NodeId) -> bool:
        return table.open_table(self.spark, self.folder.read(relation)) is not None

    def rows(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        """Return the rows of the version that is the newest now (see `StoreDeclaration.lookups`)."""
        return files.read_rows(session, _opened(session, self.folder.read(relation)), columns)

    def copied(self, _relation: NodeId, _cached_version: TableVersion | None) -> CopiedRows | None:
        return None

    def size(self, session: SparkSession, relation: NodeId) -> int:
        return _summed(_opened(session, self.folder.read(relation)), "total-files-size")

    def noted(self, session: SparkSession, output: TableOutput) -> StoredNote:
        path = self.folder.written(output.model)
        number = commits.last_batch(_opened(session, path), MAINTAINED)
        return StoredNote(number, None if number < 0 else read_note_file(session, path, number))

    def note(self, session: SparkSession, output: TableOutput, number: int, content: bytes) -> None:
        write_note_file(session, self.folder.written(output.model), number, content)


def _opened(session: SparkSession, path: str) -> Any:
    opened = table.open_table(session, path)
    if opened is None:
        raise FileNotFoundError(path)
    return opened


def _summed(opened: Any, name: str) -> int:
    """Return a total of the newest snapshot's summary."""
    snapshot = opened.currentSnapshot()
    return 0 if snapshot is None else int(snapshot.summary().get(name) or 0)


def connect(target: Target, root: Path, session: SparkSession) -> SparkTables:
    settings = target.settings.get("tables") or {}
    return IcebergTables(iceberg_folder(target, root), session, settings.get("old_snapshots"))
