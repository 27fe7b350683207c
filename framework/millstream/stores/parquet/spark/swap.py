"""Replaces all rows of a Parquet table, and copies tables."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.stores.files import TableFiles, write_json
from millstream.stores.parquet.folder import ParquetTable
from millstream.stores.parquet.record import FileChanges, commit, data_files, drop, finish


def swap_tables(files: TableFiles, new: ParquetTable, table: ParquetTable, *, swap: str) -> None:
    """Replace the rows of a table by those of a new one; a repeated call changes nothing.

    A file that both have stays: files of one path have the same rows.
    """
    if (rebuilt := finish(files, new)) is None:
        return  # removed after an earlier attempt
    record = finish(files, table)
    if record is not None and record.swap == swap:
        return
    before, after = data_files(files, table), data_files(files, new)
    changes = FileChanges(
        {f"{new.name}/{path}": path for path in after if path not in before},
        tuple(path for path in before if path not in after),
    )
    batches = (record.batches if record is not None else {}) | rebuilt.batches
    commit(files, table, replace(rebuilt, batches=batches, swap=swap), changes)


def copy_table(files: TableFiles, table: ParquetTable, to: ParquetTable) -> None:
    if (record := finish(files, table)) is None:
        return
    drop(files, to)
    files.remove(to.folder)
    files.copy(table.folder, to.folder)
    write_json(files, to.record, record)
