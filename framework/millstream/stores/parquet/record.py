"""What is recorded of a table: one file, replaced as a whole, decides what the table has."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from millstream.stores.files import ReadableFiles, TableFiles, path_in, read_json, write_json
from millstream.stores.parquet.folder import ParquetTable


class FileChanges(Struct, frozen=True):
    """Files that become part of a table, and such that no longer are."""

    moved: dict[str, str] = {}
    """Their paths in the table, by those in the folder of all tables."""
    removed: tuple[str, ...] = ()


class TableRecord(Struct, frozen=True, omit_defaults=True):
    columns: dict[str, str]
    """The types of columns, as they are spelled in files."""
    partition_by: tuple[str, ...] = ()
    batches: dict[str, int] = {}
    """The last batch of each writer."""
    newest: tuple[str, str] | None = None
    """The column that `retention` is about, and its newest time."""
    swap: str = ""
    """The last replacement of all rows."""
    pending: FileChanges | None = None
    """The last changes of files, until all of them are done."""
    dropped: bool = False
    """The table is being removed."""


def read_record(files: ReadableFiles, table: ParquetTable) -> TableRecord | None:
    record = read_json(files, table.record, TableRecord)
    return None if record is None or record.dropped else record


def commit(files: TableFiles, table: ParquetTable, record: TableRecord, changes: FileChanges) -> None:
    """Record a table with changes of its files, and do them; once recorded, they are done after a failure."""
    write_json(files, table.record, replace(record, pending=changes))
    finish(files, table)


def finish(files: TableFiles, table: ParquetTable) -> TableRecord | None:
    """Do what an interrupted command has left, and return the record of a table; None if there is none."""
    record = read_json(files, table.record, TableRecord)
    if record is None:
        return None
    if record.dropped:
        _remove(files, table)
        return None
    if record.pending is None:
        return record
    for path in record.pending.removed:
        files.remove(path_in(table.folder, path))
    for source, path in record.pending.moved.items():
        files.move(table.within(source), path_in(table.folder, path))
    done = replace(record, pending=None)
    write_json(files, table.record, done)
    return done


def drop(files: TableFiles, table: ParquetTable) -> None:
    if (record := read_json(files, table.record, TableRecord)) is not None:
        write_json(files, table.record, replace(record, dropped=True))
        _remove(files, table)


def _remove(files: TableFiles, table: ParquetTable) -> None:
    files.remove(table.folder)
    files.remove(table.records)


def data_files(files: ReadableFiles, table: ParquetTable) -> list[str]:
    """Return the files with the rows of a table, by their paths in it."""
    return sorted(path for path in files.paths(table.folder) if path.endswith(".parquet"))
