"""The versions of a Delta table: which one is the newest, its rows, and what changed between two."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.stores.delta.spark.small_tables import FEED
from millstream.stores.delta.spark.table import table_at
from millstream.stores.note_files import read_note_file
from millstream.stores.spark import MAINTAINED, StoredNote, TableVersion


def newest_version(session: SparkSession, path: str) -> TableVersion:
    table_snapshot = load_snapshot(session, path)
    return TableVersion(str(table_snapshot.metadata().id()), int(table_snapshot.version()))


def table_size(session: SparkSession, path: str) -> int:
    return int(load_snapshot(session, path).sizeInBytes())


def record_changes(session: SparkSession, path: str) -> None:
    """Let a table record its changes from now on, if it does not yet."""
    if not is_true(load_snapshot(session, path), FEED):
        session.sql(f"alter table {table_at(path)} set tblproperties ('{FEED}' = 'true')")


def rows_at(session: SparkSession, path: str, version: int) -> DataFrame:
    return session.read.format("delta").option("versionAsOf", version).load(path)


def read_changes(session: SparkSession, path: str, after: int, until: int) -> DataFrame:
    reader = session.read.format("delta").option("readChangeFeed", "true")
    return reader.option("startingVersion", after + 1).option("endingVersion", until).load(path)


def read_note(session: SparkSession, path: str) -> StoredNote:
    """Return the note of the last committed transaction; a note without its commit does not count."""
    transaction = load_snapshot(session, path).transactions().get(MAINTAINED)
    if not transaction.isDefined():
        return StoredNote(-1, None)
    number = int(transaction.get())
    return StoredNote(number, read_note_file(session, path, number))


def load_snapshot(session: SparkSession, path: str) -> Any:
    java: Any = session._jvm  # noqa: SLF001 -- PySpark has no API for this
    none = java.scala.Option.apply(None)
    table = java.io.delta.tables.DeltaTable.forPath(session._jsparkSession, path)  # noqa: SLF001
    return table.deltaLog().update(False, none, none)


def is_true(table_snapshot: Any, name: str) -> bool:
    """Whether a property of the table was set to true in a snapshot."""
    return str(table_snapshot.metadata().configuration().get(name)) == "Some(true)"
