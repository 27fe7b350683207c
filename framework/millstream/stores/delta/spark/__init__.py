"""Delta tables with Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import TimeRange
from millstream.project.values import Target
from millstream.queries.values import TableOutput
from millstream.stores.deletions import note_deletion
from millstream.stores.delta.folder import delta_folder
from millstream.stores.delta.spark import (
    append,
    deletion_vectors,
    old_files,
    small_tables,
    swap,
    table,
    versions,
)
from millstream.stores.folders import TableFolder
from millstream.stores.hadoop_files import files_of
from millstream.stores.note_files import write_note_file
from millstream.stores.retention import NewestTime, with_retention
from millstream.stores.spark import (
    COMMITTED,
    COMMITTED_AT,
    KIND,
    CopiedRows,
    StoredNote,
    StreamedTables,
    TableBatch,
    TableVersion,
)

_ROWS = "_millstream_rows"
"""The view of a batch."""
_MOST = 250_000
"""Rows of a file when a table is first written: later batches write the files with their keys again."""


class DeltaTables(Struct, frozen=True):
    folder: TableFolder
    spark: SparkSession
    old_files: str | None = None
    """For how long files of old versions are kept; None for the default."""
    marks: bool = True
    """Batches may mark rows of large tables as deleted."""

    def create(self, output: TableOutput, *, changes: bool) -> bool:
        path = self.folder.written(output.model)
        new = table.create_table(self.spark, output, path, changes=changes)
        if not new and old_files.is_due(self.spark, output, path, self.old_files, 0):
            old_files.compact_table(self.spark, output, path, self.old_files)
        return new

    def merge(self, rows: DataFrame, output: TableOutput, batch: TableBatch) -> None:
        self._merge(rows, output, batch)
        session, path = rows.sparkSession, self.folder.written(output.model)
        if output.deletes_on_request and batch.deletes:
            note_deletion(session, path)
        if old_files.is_due(session, output, path, self.old_files, batch.number):
            old_files.compact_table(session, output, path, self.old_files)

    def _merge(self, rows: DataFrame, output: TableOutput, batch: TableBatch) -> None:
        path, session = self.folder.written(output.model), rows.sparkSession
        deletes_others = output.appends and batch.deletes
        small = batch.local and not deletes_others
        if small and (delta_table := small_tables.open_small(session, output, path)) is not None:
            small_tables.merge_small(delta_table, rows.toArrow(), output, batch)
            return

        def newest() -> NewestTime | None:
            return None if batch.new else table.read_newest(session, output, path)

        if output.appends:
            append.append_rows(rows, output, path, batch, newest)
            return
        if not batch.new:
            deletion_vectors.settle_vectors(session, path, allowed=self.marks)
        once = table.skip_repeated(session, batch.writer, batch.number)
        with with_retention(rows, output, newest, local=batch.local) as (retained, limit), once:
            if limit is not None:
                table.write_newest(session, path, limit.newest)
            if batch.new:
                first = retained.where("not _deleted").drop("_deleted") if batch.deletes else retained
                first.write.format("delta").option("maxRecordsPerFile", _MOST).mode("append").save(path)
            else:
                retained.createOrReplaceTempView(_ROWS)
                near = table.near_sql(session, rows, output, path) if batch.local else ()
                sql = table.merge_sql(output, _ROWS, path, deletes=batch.deletes, limit=limit, near=near)
                with table.reading_source_again(session, allowed=batch.local):
                    session.sql(sql)

    def replace_range(self, rows: DataFrame, output: TableOutput, part: TimeRange) -> None:
        append.replace_rows(rows, output, self.folder.written(output.model), part)

    def swap(self, new: TableOutput, output: TableOutput, id_: str, *, changes: bool) -> None:
        paths = self.folder.written(new.model), self.folder.written(output.model)
        swap.swap_tables(self.spark, output, *paths, app=id_, changes=changes)

    def copy(self, output: TableOutput, to: TableOutput) -> None:
        swap.copy_table(self.spark, output, self.folder.written(output.model), self.folder.written(to.model))

    def drop(self, output: TableOutput) -> None:
        path = self.folder.written(output.model)
        files_of(path, self.spark).remove(path)

    def has_rows(self, output: TableOutput) -> bool:
        path = self.folder.written(output.model)
        return table.table_exists(self.spark, path) and not table.read_rows(self.spark, path).isEmpty()

    def exists(self, relation: NodeId) -> bool:
        return table.table_exists(self.spark, self.folder.read(relation))

    def rows(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        return table.of_model(table.read_rows(session, self.folder.read(relation)), columns)

    def changes(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        newest = self.feed(session, relation, columns).where(f"{KIND} <> 'update_preimage'")
        deleted = (f.col(KIND) == "delete").alias("_deleted")
        return newest.select(*(f.col(quote_name(column.name)) for column in columns), deleted)

    def feed(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        reader = session.readStream.format("delta").option("readChangeFeed", "true")
        names = (f.col(quote_name(column.name)) for column in columns)
        return reader.load(self.folder.read(relation)).select(*names, KIND, COMMITTED, COMMITTED_AT)

    def is_at_first_rows(self, offset: Mapping[str, Any]) -> bool:
        return bool(offset["isStartingVersion"])

    def newest(self, session: SparkSession, relation: NodeId) -> TableVersion:
        return versions.newest_version(session, self.folder.read(relation))

    def copied(self, relation: NodeId, cached_version: TableVersion | None) -> CopiedRows | None:
        return small_tables.copy_rows(self.folder.read(relation), cached_version)

    def size(self, session: SparkSession, relation: NodeId) -> int:
        return versions.table_size(session, self.folder.read(relation))

    def record_changes(self, session: SparkSession, relation: NodeId) -> None:
        if not self._is_production(relation):
            versions.record_changes(session, self.folder.read(relation))

    def _is_production(self, relation: NodeId) -> bool:
        """Whether an environment reads the table of production, and must not write it."""
        environment = self.folder.environment
        return environment is not None and environment.defers(relation)

    def has_version(self, session: SparkSession, relation: NodeId, version: int) -> bool:
        path = self.folder.read(relation)
        if self._is_production(relation) and not versions.has_recorded(session, path, version):
            return False  # no reader there needs its changes
        kept_for = old_files.kept_for(self.old_files, followed=True)
        return versions.has_version(session, path, version, kept_for)

    def rows_at(
        self, session: SparkSession, relation: NodeId, version: int, columns: Iterable[Column] = ()
    ) -> DataFrame:
        rows = versions.rows_at(session, self.folder.read(relation), version)
        return table.of_model(rows, columns)

    def changed_rows(self, session: SparkSession, relation: NodeId, after: int, until: int) -> DataFrame:
        return versions.read_changes(session, self.folder.read(relation), after, until)

    def noted(self, session: SparkSession, output: TableOutput) -> StoredNote:
        return versions.read_note(session, self.folder.written(output.model))

    def note(self, session: SparkSession, output: TableOutput, number: int, content: bytes) -> None:
        write_note_file(session, self.folder.written(output.model), number, content)


def connect(target: Target, root: Path, session: SparkSession) -> StreamedTables:
    settings = target.settings.get("tables") or {}
    marks = settings.get("deletion_vectors") is not False
    return DeltaTables(delta_folder(target, root), session, settings.get("old_files"), marks)
