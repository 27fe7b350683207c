"""Parquet tables with Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import TimeRange
from millstream.project.values import Target
from millstream.queries.values import TableOutput
from millstream.stores.column_types import check_column_types
from millstream.stores.file_sizes import combines_after
from millstream.stores.files import TableFiles, write_json
from millstream.stores.folders import TableFolder
from millstream.stores.hadoop_files import files_of
from millstream.stores.parquet.folder import ParquetTable, parquet_folder, parquet_table
from millstream.stores.parquet.record import (
    FileChanges,
    TableRecord,
    commit,
    data_files,
    drop,
    finish,
    read_record,
)
from millstream.stores.parquet.spark.files import expired_files, read_rows, replaced_files, stage_files
from millstream.stores.parquet.spark.swap import copy_table, swap_tables
from millstream.stores.retention import NewestTime, current_limit, newest_time, with_retention
from millstream.stores.spark import CopiedRows, SparkTables, StoredNote, TableBatch, TableVersion


class ParquetTables(Struct, frozen=True):
    folder: TableFolder
    spark: SparkSession
    files: TableFiles

    def create(self, output: TableOutput, *, changes: bool) -> bool:  # noqa: ARG002 -- there is no change feed
        table = self._written(output)
        if (record := finish(self.files, table)) is None:
            _begin(self.files, output, table)
            return True
        _add_columns(self.files, output, table, record)
        return False

    def merge(self, rows: DataFrame, output: TableOutput, batch: TableBatch) -> None:
        """Append the rows of a batch, unless the table already has it."""
        session, table, files = rows.sparkSession, self._written(output), self.files
        record = _finished(files, table)
        if record.batches.get(batch.writer, -1) >= batch.number:
            return

        def newest() -> NewestTime | None:
            stored = read_rows(session, table, record, data_files(files, table))
            return _stored_newest(record, output) or newest_time(stored, output)

        with with_retention(rows, output, newest, local=batch.local) as (retained, limit):
            staged = stage_files(retained, files, table, record, batch)
        record = replace(record, batches=record.batches | {batch.writer: batch.number})
        if limit is not None:
            record = replace(record, newest=(limit.newest.column, limit.newest.time))
        commit(files, table, record, FileChanges(staged))
        if output.options.get("retention") and combines_after(batch.number):
            _remove_expired(session, files, output, table, record)

    def replace_range(self, rows: DataFrame, output: TableOutput, part: TimeRange) -> None:
        table, files = self._written(output), self.files
        record = _finished(files, table)
        commit(files, table, record, replaced_files(rows, files, table, record, part))

    def swap(self, new: TableOutput, output: TableOutput, id_: str, *, changes: bool) -> None:  # noqa: ARG002
        table = self._written(output)
        swap_tables(self.files, self._written(new), table, swap=id_)

    def copy(self, output: TableOutput, to: TableOutput) -> None:
        table = self._written(output)
        copy_table(self.files, table, self._written(to))

    def drop(self, output: TableOutput) -> None:
        table = self._written(output)
        drop(self.files, table)

    def has_rows(self, output: TableOutput) -> bool:
        table = self._written(output)
        return finish(self.files, table) is not None and bool(data_files(self.files, table))

    def exists(self, relation: NodeId) -> bool:
        table = self._read(relation)
        return read_record(self.files, table) is not None

    def rows(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        """Return the rows that the table has now (see `StoreDeclaration.lookups`)."""
        table = self._read(relation)
        record = read_record(self.files, table)
        if record is None:
            raise FileNotFoundError(table.folder)
        return read_rows(session, table, record, data_files(self.files, table), columns)

    def copied(self, _relation: NodeId, _cached_version: TableVersion | None) -> CopiedRows | None:
        return None

    def size(self, _session: SparkSession, relation: NodeId) -> int:
        table = self._read(relation)
        return self.files.size(table.folder)

    def noted(self, session: SparkSession, output: TableOutput) -> StoredNote:
        raise NotImplementedError("tables over tables have keys")

    def note(self, session: SparkSession, output: TableOutput, number: int, content: bytes) -> None:
        raise NotImplementedError("tables over tables have keys")

    def _written(self, output: TableOutput) -> ParquetTable:
        return parquet_table(self.folder.written(output.model))

    def _read(self, relation: NodeId) -> ParquetTable:
        return parquet_table(self.folder.read(relation))


def _begin(files: TableFiles, output: TableOutput, table: ParquetTable) -> None:
    if output.is_version:
        files.remove(table.folder)  # what an interrupted copy has left
    elif data_files(files, table):
        message = f"{table.folder} has Parquet files already, which are not rows of '{output.model.name}'"
        remedy = "move them elsewhere, or set another parquet_path under `tables:`"
        raise MillstreamError(Diagnostic("MS629", message, None, remedy))
    names = {column.name.lower(): column.name for column in output.columns}
    partitions = tuple(names[name.lower()] for name in output.options.get("partition_by") or ())
    columns = {column.name: str(column.type) for column in output.columns}
    write_json(files, table.record, TableRecord(columns, partitions))


def _add_columns(files: TableFiles, output: TableOutput, table: ParquetTable, record: TableRecord) -> None:
    stored = {name.lower(): parse_type(type_) for name, type_ in record.columns.items()}
    expected = {column.name.lower(): column.type for column in output.columns}
    check_column_types("MS628", output, stored, expected)
    added = {c.name: str(c.type) for c in output.columns if c.name.lower() not in stored}
    if added:
        write_json(files, table.record, replace(record, columns=record.columns | added))


def _finished(files: TableFiles, table: ParquetTable) -> TableRecord:
    record = finish(files, table)
    if record is None:
        raise FileNotFoundError(table.record)
    return record


def _stored_newest(record: TableRecord, output: TableOutput) -> NewestTime | None:
    """Return the recorded newest time, if it is that of the model's column."""
    if record.newest is None:
        return None
    newest = NewestTime(*record.newest)
    return newest if newest.column.lower() == str(output.options["order_by"]).lower() else None


def _remove_expired(
    session: SparkSession, files: TableFiles, output: TableOutput, table: ParquetTable, record: TableRecord
) -> None:
    """Remove the files all of whose rows are older than `retention`."""
    rows = read_rows(session, table, record, data_files(files, table))
    limit = current_limit(rows, output, _stored_newest(record, output))
    if limit is not None and (expired := expired_files(session, files, table, record, limit)):
        commit(files, table, record, FileChanges(removed=expired))


def connect(target: Target, root: Path, session: SparkSession) -> SparkTables:
    folder = parquet_folder(target, root)
    return ParquetTables(folder, session, files_of(folder.path, session))
