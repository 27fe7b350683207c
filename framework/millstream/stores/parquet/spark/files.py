"""The files of a Parquet table: Spark writes and reads them."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from urllib.parse import unquote

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.core.types import Field, parse_type
from millstream.formats.sql import fields_to_ddl
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import TimeRange
from millstream.stores.files import TableFiles
from millstream.stores.parquet.folder import ParquetTable
from millstream.stores.parquet.record import FileChanges, TableRecord, data_files
from millstream.stores.parquet_files import WRITING, exact_path
from millstream.stores.retention import RetentionLimit
from millstream.stores.session_settings import use_settings
from millstream.stores.spark import TableBatch

_ALL = "millstream_rows"
"""The folder of all staged files: into folders, Spark writes no files without rows."""


def stage_files(
    rows: DataFrame, files: TableFiles, table: ParquetTable, record: TableRecord, batch: TableBatch
) -> dict[str, str]:
    """Write the rows of a batch next to its table, and return where each file belongs in the table.

    What an earlier attempt has written goes.
    """
    session = rows.sparkSession
    stored = {name.lower(): (name, type_) for name, type_ in record.columns.items()}
    columns = [
        f.col(quote_name(column)).cast(type_).alias(name)
        for column in rows.columns
        if column.lower() in stored
        for name, type_ in [stored[column.lower()]]
    ]
    written = rows.select(f.lit(0).alias(_ALL), *columns)
    if not batch.local:
        # As few files as the size of the batch allows: nothing combines them later.
        written = written.hint("rebalance", *map(_column, record.partition_by))
    writer = written.write.mode("overwrite").option("partitionOverwriteMode", "static")
    with use_settings(session, WRITING):
        writer.partitionBy(_ALL, *record.partition_by).parquet(table.staged)
    staged = [path for path in files.paths(table.staged) if path.endswith(".parquet")]
    return {
        f"{table.staged.removeprefix(table.tables + '/')}/{path}": _path_in_table(path, batch, index)
        for index, path in enumerate(sorted(staged))
    }


def read_rows(
    session: SparkSession,
    table: ParquetTable,
    record: TableRecord,
    names: Iterable[str],
    columns: Iterable[Column] = (),
) -> DataFrame:
    """Return the rows of files of a table, with those of `columns` that it has; all without any."""
    ddl = fields_to_ddl([Field(name, parse_type(type_)) for name, type_ in record.columns.items()])
    paths = [exact_path(f"{table.folder}/{name}") for name in names]
    rows = session.createDataFrame([], ddl)
    if paths:
        rows = session.read.schema(ddl).option("basePath", table.folder).parquet(*paths)
    stored = {name.lower(): name for name in record.columns}
    chosen = [
        f.col(quote_name(stored[column.name.lower()])).cast(str(column.type)).alias(column.name)
        for column in columns
        if column.name.lower() in stored
    ]
    return rows.select(*(chosen or map(_column, record.columns)))


def expired_files(
    session: SparkSession, files: TableFiles, table: ParquetTable, record: TableRecord, limit: RetentionLimit
) -> tuple[str, ...]:
    """Return the files all of whose rows are too old: by their statistics, Spark skips those of new rows."""
    stored = read_rows(session, table, record, data_files(files, table))
    old = _files_with(stored, table, limit.expired())
    if not old:
        return ()
    recent = _files_with(read_rows(session, table, record, old), table, f"not {limit.expired()}")
    return tuple(sorted(old - recent))


def replaced_files(
    rows: DataFrame, files: TableFiles, table: ParquetTable, record: TableRecord, part: TimeRange
) -> FileChanges:
    """Write the files that have rows of a range again, with other rows in it."""
    session = rows.sparkSession
    stored = read_rows(session, table, record, data_files(files, table))
    touched = sorted(_files_with(stored, table, part.condition))
    others = read_rows(session, table, record, touched).where(f"not coalesce({part.condition}, false)")
    # Other files are touched when the same range is replaced again, so that names differ then.
    writer = "\n".join(("range", part.condition, *touched))
    batch = TableBatch(writer, 0, deletes=False, new=False)
    staged = stage_files(others.unionByName(rows, allowMissingColumns=True), files, table, record, batch)
    return FileChanges(staged, tuple(touched))


def _files_with(rows: DataFrame, table: ParquetTable, condition: str) -> set[str]:
    paths = rows.where(condition).select(f.col("_metadata.file_path")).distinct().collect()
    return {unquote(path).rpartition(f"/{table.name}/")[2] for (path,) in paths}


def _path_in_table(path: str, batch: TableBatch, index: int) -> str:
    """Return the path of a file; two that are equal have the same rows, since a batch is stored once."""
    _, *partitions, _ = path.split("/")
    writer = blake2b(batch.writer.encode(), digest_size=6).hexdigest()
    return "/".join((*partitions, f"{writer}-{batch.number}-{index}.parquet"))


def _column(name: str) -> SparkColumn:
    return f.col(quote_name(name))
