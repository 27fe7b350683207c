"""Stores a batch of few rows in a small table on this machine with delta-rs, in this process.

Spark plans a MERGE as several jobs, which cost many times what delta-rs needs. Where the two differ:

- delta-rs reads timestamps of 96 bits, Spark's default, as nanoseconds, which end in the year 2262. So all
  timestamps of such a table have been written as microseconds, which a property of the table says.
- delta-rs leaves NaN out of statistics, and makes decimals floats there; Spark would skip rows by them. So
  such a table and its files have statistics of its keys alone, of types that both write in the same way.
- For Spark, NaN equals NaN, and -0.0 equals 0.0. So keys and `order_by` are of other types.
"""

from __future__ import annotations

import pyarrow as pa
from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from pyspark.sql import SparkSession

from millstream.core.expressions import quote_name
from millstream.core.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    Decimal,
    Map,
    Row,
    Type,
)
from millstream.plan.nodes import Column
from millstream.project.folders import local_path
from millstream.queries.values import TableOutput
from millstream.sql.dialect_words import quote_standard
from millstream.stores.session_settings import takes_fast_paths
from millstream.stores.spark import CopiedRows, TableBatch, TableVersion

FEED = "delta.enableChangeDataFeed"
_MARK = "millstream.timestamps"
_COLUMNS, _FIRST = "delta.dataSkippingStatsColumns", "delta.dataSkippingNumIndexedCols"
PROPERTIES = (_MARK, _COLUMNS, _FIRST)
_TIMESTAMPS, _MICROS = "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"
_COUNTED = (STRING, *INTEGERS, DATE)
"""Types whose statistics both write in the same way."""
_COMPARED = (*_COUNTED, BOOLEAN, BINARY, TIMESTAMP, TIMESTAMP_NTZ)
"""Types for which both agree on what is equal, and what is greater."""
_FEATURES = frozenset({"timestampNtz", "changeDataFeed", "invariants", "appendOnly"})
_SOME, _NONE = ColumnProperties(statistics_enabled="CHUNK"), ColumnProperties(statistics_enabled="NONE")
LARGEST = 64 << 20
"""Bytes of a table."""
_FEW = 4 << 20
"""Bytes of a table whose rows are copied."""


def small_properties(session: SparkSession, table: TableOutput, path: str) -> dict[str, str]:
    """Return the properties by which a new table can have its small batches stored here."""
    if not _is_possible(session, table, path):
        return {}
    keys = [quote_name(column.name) for column in _compared(table) if column.type in _COUNTED]
    statistics = {_COLUMNS: ",".join(keys)} if keys else {_FIRST: "0"}
    return {_MARK: _MICROS} | statistics


def writes_other_timestamps(session: SparkSession) -> bool:
    """Whether Spark does not write microseconds, so that tables must be left to it from now on."""
    return session.conf.get(_TIMESTAMPS, None) != _MICROS


def open_small(session: SparkSession, table: TableOutput, path: str) -> DeltaTable | None:
    """Return a table that can have a small batch stored here; None if that is up to Spark."""
    delta_table = open_shared(session, table, path)
    return delta_table if delta_table is not None and sum(file_sizes(delta_table)) <= LARGEST else None


def open_shared(session: SparkSession, table: TableOutput, path: str) -> DeltaTable | None:
    """Return a table that both engines write alike, of any size; None if Spark must write it."""
    if not takes_fast_paths(session) or not _is_possible(session, table, path):
        return None
    delta_table = DeltaTable(str(local_path(path)))
    names = {field.name for field in delta_table.schema().fields}
    if not names.issuperset(column.name for column in table.columns):
        return None  # Spark finds them in another case
    return delta_table if _is_shared(delta_table) else None


def copy_rows(path: str, cached_version: TableVersion | None) -> CopiedRows | None:
    """Return the rows of a table that is small, and that can be read here."""
    folder = local_path(path)
    if folder is None:
        return None
    delta_table = DeltaTable(str(folder))
    version = TableVersion(str(delta_table.metadata().id), delta_table.version())
    if version == cached_version:
        return CopiedRows(version, None)
    few = _is_shared(delta_table) and sum(file_sizes(delta_table)) <= _FEW
    return CopiedRows(version, delta_table.to_pyarrow_table()) if few else None


def _is_shared(delta_table: DeltaTable) -> bool:
    """Whether both engines read and write a table alike."""
    if delta_table.metadata().configuration.get(_MARK) != _MICROS:
        return False
    return _FEATURES.issuperset(delta_table.protocol().writer_features or ())


def file_sizes(delta_table: DeltaTable) -> list[int]:
    """Return the bytes of each file of a table."""
    file_sizes: list[int] = pa.table(delta_table.get_add_actions())["size_bytes"].to_pylist()
    return file_sizes


def merge_small(delta_table: DeltaTable, rows: pa.Table, table: TableOutput, batch: TableBatch) -> None:
    """Store the rows of a batch, unless the table already has them."""
    stored = delta_table.transaction_version(batch.writer)
    if stored is not None and stored >= batch.number:
        return
    committed = CommitProperties(app_transactions=[Transaction(batch.writer, batch.number)])
    if table.appends:
        write_deltalake(
            delta_table,
            rows,
            mode="append",
            writer_properties=writer_properties(table),
            commit_properties=committed,
        )
        return
    on = " and ".join(_equal(column.name, rows) for column in _compared(table) if _is_key(table, column))
    merged = delta_table.merge(
        rows,
        on,
        source_alias="new",
        target_alias="old",
        writer_properties=writer_properties(table),
        commit_properties=committed,
    )
    newer = _newer(table)
    alive = ["not new._deleted"] if batch.deletes else []
    if batch.deletes:
        merged = merged.when_matched_delete(_all("new._deleted", *newer))
    values = {quote_standard(column.name): f"new.{quote_standard(column.name)}" for column in table.columns}
    merged = merged.when_matched_update(values, _all(*alive, *newer))
    merged.when_not_matched_insert(values, _all(*alive)).execute()


def swap_small(old: DeltaTable, new: DeltaTable, table: TableOutput, *, app: str) -> None:
    """Replace the rows of a table by those of another, unless it was done; equal rows stay untouched."""
    if old.transaction_version(app) is not None:
        return
    on = " and ".join(f"(old.{name} is not distinct from new.{name})" for name in _names(table, keys=True))
    differs = " or ".join(f"(old.{name} is distinct from new.{name})" for name in _names(table))
    values = {name: f"new.{name}" for name in _names(table)}
    merged = old.merge(
        new.to_pyarrow_table(),
        on,
        source_alias="new",
        target_alias="old",
        writer_properties=writer_properties(table),
        commit_properties=CommitProperties(app_transactions=[Transaction(app, 0)]),
    )
    merged = merged.when_matched_update(values, differs).when_not_matched_insert(values)
    merged.when_not_matched_by_source_delete().execute()


def copy_small(delta_table: DeltaTable, table: TableOutput, to: str) -> None:
    """Copy a table to a place that has none."""
    configuration = {
        name: value for name, value in delta_table.metadata().configuration.items() if name in PROPERTIES
    }
    new = DeltaTable.create(
        str(local_path(to)), delta_table.schema(), configuration=configuration, raise_if_key_not_exists=False
    )
    write_deltalake(
        new, delta_table.to_pyarrow_table(), mode="append", writer_properties=writer_properties(table)
    )


def can_swap(old: DeltaTable, new: DeltaTable, table: TableOutput, *, changes: bool) -> bool:
    """Whether a swap needs nothing but other rows, which can be compared here."""
    if table.appends:
        return False
    feed = old.metadata().configuration.get(FEED) == "true"
    columns, new_columns = ({field.name: field.type for field in t.schema().fields} for t in (old, new))
    comparable = (*_COMPARED, FLOAT, DOUBLE)
    return (
        columns == new_columns
        and columns.keys() == {column.name for column in table.columns}
        and feed >= changes
        and all(isinstance(column.type, Decimal) or column.type in comparable for column in table.columns)
    )


def _names(table: TableOutput, *, keys: bool = False) -> list[str]:
    return [quote_standard(column.name) for column in table.columns if not keys or _is_key(table, column)]


def _is_possible(session: SparkSession, table: TableOutput, path: str) -> bool:
    """Whether both engines would store the same rows, as far as settings and types go."""
    return (
        not (table.options.get("retention") or table.layout)
        and local_path(path) is not None
        and not writes_other_timestamps(session)
        and all(_is_stored(column.type) for column in table.columns)
        and all(isinstance(column.type, Decimal) or column.type in _COMPARED for column in _compared(table))
    )


def _is_stored(kind: Type) -> bool:
    match kind:
        case Array(element):
            return _is_stored(element)
        case Map(key, value):
            return _is_stored(key) and _is_stored(value)
        case Row(fields):
            return all(_is_stored(field.type) for field in fields)
        case Decimal():
            return True
    return kind in (*_COMPARED, FLOAT, DOUBLE)


def _compared(table: TableOutput) -> list[Column]:
    """Return the columns that rows are found by, and the one that says which is newer."""
    names = {name.lower() for name in (*table.keys, table.options.get("order_by") or "")}
    return [column for column in table.columns if column.name.lower() in names]


def writer_properties(table: TableOutput) -> WriterProperties:
    counted = {column.name: _SOME for column in _compared(table) if column.type in _COUNTED}
    return WriterProperties(compression="SNAPPY", default_column_properties=_NONE, column_properties=counted)


def _is_key(table: TableOutput, column: Column) -> bool:
    return column.name.lower() in {name.lower() for name in table.keys}


def _equal(name: str, rows: pa.Table) -> str:
    # A comparison by `=` is faster, and NULL only equals NULL.
    comparison = "is not distinct from" if rows[name].null_count else "="
    return f"(old.{quote_standard(name)} {comparison} new.{quote_standard(name)})"


def _newer(table: TableOutput) -> list[str]:
    order_by = str(table.options.get("order_by") or "").lower()
    columns = [quote_standard(column.name) for column in table.columns if column.name.lower() == order_by]
    return [f"(old.{name} is null or new.{name} >= old.{name})" for name in columns]


def _all(*conditions: str) -> str | None:
    return " and ".join(conditions) or None
