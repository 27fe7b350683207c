"""Which rows of an append-only table a request deletes, and when the files that held them go."""

from __future__ import annotations

import time

from msgspec import Struct
from pyspark.sql import SparkSession

from millstream.core.encoding import to_json
from millstream.core.expressions import quote_name
from millstream.queries.values import TableOutput
from millstream.stores.files import read_json
from millstream.stores.hadoop_files import files_of

_NOTE = "_millstream_deletions.json"
"""A file in the folder of a table."""


class _DeletedRows(Struct, frozen=True):
    """Times of commits that deleted rows which files on disk may still have, in milliseconds."""

    first: int
    last: int


def deleted_sql(table: TableOutput, row: str, request: str) -> str:
    """Return the condition for rows that a request deletes, as Spark SQL; both are aliases."""
    same = (f"{row}.{quote_name(name)} = {request}.{quote_name(name)}" for name in table.deleted_by)
    time_column = quote_name(table.options["order_by"])
    return " and ".join(
        (*same, f"({row}.{time_column} is null or {row}.{time_column} <= {request}.{time_column})")
    )


def note_deletion(session: SparkSession, folder: str) -> None:
    """Note that rows were just deleted, of which files of older versions still have copies."""
    now, before = now_millis(), _read(session, folder)
    _write(session, folder, _DeletedRows(before.first if before else now, now))


def files_must_go(session: SparkSession, folder: str, kept_for: int) -> bool:
    """Return whether files with deleted rows have been kept for so many milliseconds."""
    noted = _read(session, folder)
    return noted is not None and noted.first + kept_for <= now_millis()


def note_removal(session: SparkSession, folder: str, until: int) -> None:
    """Note that files were removed that only versions until a time need, in milliseconds."""
    if (noted := _read(session, folder)) is None:
        return
    if noted.last <= until:
        files_of(folder, session).remove(f"{folder}/{_NOTE}")
    else:
        _write(session, folder, _DeletedRows(noted.last, noted.last))


def _read(session: SparkSession, folder: str) -> _DeletedRows | None:
    return read_json(files_of(folder, session), f"{folder}/{_NOTE}", _DeletedRows)


def _write(session: SparkSession, folder: str, noted: _DeletedRows) -> None:
    files_of(folder, session).write(f"{folder}/{_NOTE}", to_json(noted))


def now_millis() -> int:
    return int(time.time() * 1000)
