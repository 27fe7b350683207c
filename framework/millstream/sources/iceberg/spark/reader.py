"""A data source of Spark in Python, which reads the snapshots of an Iceberg table by pyiceberg.

Iceberg's own source for Spark does not load on Spark 4.2 (see `stores/iceberg/spark/table.py`). Workers of
Spark run this. Those of a cluster have pyiceberg but no Millstream: pickle sends them this.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from millstream.sources.iceberg.snapshots import (
    ALL_ROWS,
    NUMBER,
    SNAPSHOT,
    ReadColumn,
    TableAddress,
    TableProblemError,
    added_files,
    before,
    changed_files,
    check_columns,
    check_progress,
    load_table,
    newest,
)
from millstream.sources.iceberg.spark.changes import changed_rows

if TYPE_CHECKING:
    from pyiceberg.io.pyarrow import ArrowScan
    from pyiceberg.table import FileScanTask, Table

START, END = "start", "end"
"""Options of a read: positions in JSON."""
POSITION, DELETED = "_position", "_deleted"
_POLL_SECONDS = 1.0
"""Spark asks a hundred times a second whether there is something new; catalogs are asked that often."""
_PART_BYTES = 64 << 20
"""The files of a task of Spark have together so many bytes, or are one file."""


class TableRead(NamedTuple):
    """What is read of a table."""

    address: TableAddress
    columns: list[ReadColumn]
    keys: Sequence[str] = ()
    start: int | None = None
    start_millis: int | None = None
    skip_changes: bool = False


def data_source(name: str, read: TableRead) -> type[DataSource]:
    """Return a data source of one table; pickle sends it, so credentials are in no plan."""

    class IcebergSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def reader(self, schema: StructType) -> DataSourceReader:
            start, end = (json.loads(self.options[option]) for option in (START, END))
            return _Rows(read, schema, start, end)

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 -- Spark's name
            start = self.options.get(START)
            return _Stream(read, schema, json.loads(start) if start else None)

    return IcebergSource


class Part(InputPartition):
    """Files that a task of Spark reads: their rows, or how they differ from those of files before."""

    def __init__(self, table: Table, files: list[FileScanTask], was: list[FileScanTask], number: int) -> None:
        self.files, self.was, self.number = files, was, number
        # Each task gets it: without the history of a table, which can be long.
        emptied: dict[str, Any] = {"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}}
        self.metadata, self.io = table.metadata.model_copy(update=emptied), table.io


class _Rows(DataSourceReader):
    """The rows between two positions."""

    def __init__(
        self, read: TableRead, schema: StructType, start: dict[str, Any], end: dict[str, Any]
    ) -> None:
        self._read, self._schema, self._start, self._end = read, schema, start, end

    def partitions(self) -> list[InputPartition]:
        table = load_table(self._read.address)
        # Spark calls `read` with a part of its own if there is none.
        return [*_parts(table, self._read, self._start, self._end)] or [Part(table, [], [], 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows(partition, self._read, self._schema)


class _Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The rows of a table as they come.

    Spark ends a query with `availableNow` after a batch that it repeats, unless the source has its own end.
    """

    def __init__(self, read: TableRead, schema: StructType, start: dict[str, Any] | None) -> None:
        self._read, self._schema, self._start = read, schema, start
        self._loaded: tuple[Table, float] | None = None
        self._end: dict[str, Any] | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        self._end = newest(self._table())

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        return self._start or before(self._table(), self._read.start, self._read.start_millis)

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002, N802
        table = self._table()
        check_progress(table, start)
        check_columns(table, self._read.columns)
        return self._end or newest(table)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        table = self._table()
        check_progress(table, end)
        return _parts(table, self._read, start, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows(partition, self._read, self._schema)

    def _table(self) -> Table:
        if self._loaded is None or time.monotonic() - self._loaded[1] > _POLL_SECONDS:
            self._loaded = load_table(self._read.address), time.monotonic()
        return self._loaded[0]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_loaded": None}  # what the driver has loaded is of no use to tasks


def _parts(table: Table, read: TableRead, start: dict[str, Any], end: dict[str, Any]) -> list[Part]:
    """Return the parts of what is between two positions."""
    if read.keys and start[SNAPSHOT] != ALL_ROWS:
        was, now = changed_files(table, start, end)
        return [Part(table, now, was, end[NUMBER])] if was or now else []
    groups: list[list[FileScanTask]] = []
    size = 0
    for file in added_files(table, start, end, skip_changes=read.skip_changes):
        size += file.file.file_size_in_bytes
        if not groups or size > _PART_BYTES:
            groups.append([])
            size = file.file.file_size_in_bytes
        groups[-1].append(file)
    return [Part(table, files, [], end[NUMBER]) for files in groups]


def _rows(part: Any, read: TableRead, schema: StructType) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part; with a key, those that are gone and new ones."""
    types = to_arrow_schema(schema, timezone="UTC")
    try:
        if not part.was:
            for batch in _batches(part, read):
                yield _typed(batch, part.number, types, deleted=False)
            return
        was, now = _table_of(part, part.was, read), _table_of(part, part.files, read)
        for rows, deleted in zip(changed_rows(was, now, read.keys), (True, False), strict=True):
            for batch in rows.to_batches():
                yield _typed(batch, part.number, types, deleted=deleted)
    except FileNotFoundError as error:
        reason = " ".join(str(error).split())[:300]
        raise TableProblemError(f"a file of the table no longer exists: {reason}") from None


def _batches(part: Any, read: TableRead) -> Iterator[pa.RecordBatch]:
    scan, names = _scan(part, read)
    for batch in scan.to_record_batches(part.files):
        yield batch.select(names).rename_columns([column.name for column in read.columns])


def _table_of(part: Any, files: list[FileScanTask], read: TableRead) -> pa.Table:
    scan, names = _scan(part, read)
    return scan.to_table(files).select(names).rename_columns([column.name for column in read.columns])


def _scan(part: Any, read: TableRead) -> tuple[ArrowScan, list[str]]:
    """Return a scan of the columns that are read, and the names that these have in the table."""
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan

    schema = part.metadata.schema()
    names = [schema.find_field(column.id).name for column in read.columns]
    return ArrowScan(part.metadata, part.io, schema.select(*names), AlwaysTrue()), names


def _typed(batch: pa.RecordBatch, number: int, types: pa.Schema, *, deleted: bool) -> pa.RecordBatch:
    """Return rows with the types and the order that Spark expects; gone rows are before new ones."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    if DELETED in types.names:
        columns[POSITION] = pa.repeat(pa.scalar(number * 2 + (not deleted), pa.int64()), batch.num_rows)
        columns[DELETED] = pa.repeat(pa.scalar(deleted), batch.num_rows)
    return pa.RecordBatch.from_arrays([columns[type_.name].cast(type_.type) for type_ in types], schema=types)
