"""The versions of a Delta table: which one is the newest, its rows, and what changed between two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import msgspec
from pyspark.sql import DataFrame, SparkSession

from millstream.stores.deletions import now_millis
from millstream.stores.delta.spark.small_tables import FEED
from millstream.stores.delta.spark.table import table_at
from millstream.stores.hadoop_files import files_of
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


def has_version(session: SparkSession, path: str, version: int, kept_for: int) -> bool:
    """Return whether the files of a version are left, and those of what has changed since.

    They are if the first change was less than `kept_for` milliseconds ago: only older files are removed.
    """
    for number, actions in _logs(session, path, version):
        if actions is None:
            return False
        if number == version + 1 and _committed(actions) + kept_for > now_millis():
            return True
        if not all(_exists(session, file) for file in _files_of(actions, path)):
            return False
    return True


def has_recorded(session: SparkSession, path: str, version: int) -> bool:
    """Return whether a table has recorded all changes since a version, as far as its log goes back."""
    if not is_true(load_snapshot(session, path), FEED):
        return False
    logs = (actions for _, actions in _logs(session, path, version) if actions is not None)
    return not any("metaData" in action for actions in logs for action in actions)


def _logs(
    session: SparkSession, path: str, version: int
) -> Iterator[tuple[int, list[dict[str, Any]] | None]]:
    """Yield the versions after one, each with its actions; None if its log was removed."""
    files = files_of(path, session)
    for number in range(version + 1, newest_version(session, path).number + 1):
        log = files.read(f"{path}/_delta_log/{number:020}.json")
        yield number, None if log is None else [msgspec.json.decode(line) for line in log.splitlines()]


def _committed(actions: list[dict[str, Any]]) -> int:
    """Return when a version was committed, in milliseconds; 0 if its log does not say so."""
    times = (action["commitInfo"].get("timestamp") for action in actions if "commitInfo" in action)
    return next(times, 0) or 0


def _files_of(actions: list[dict[str, Any]], path: str) -> Iterator[str]:
    for action in actions:
        for kind in ("add", "remove", "cdc"):
            if kind in action:
                file = unquote(action[kind]["path"])
                yield file if file.startswith("/") or "://" in file else f"{path}/{file}"


def _exists(session: SparkSession, file: str) -> bool:
    java: Any = session._jvm  # noqa: SLF001 -- PySpark has no API for file systems
    hadoop_path = java.org.apache.hadoop.fs.Path(file)
    return bool(hadoop_path.getFileSystem(session._jsc.hadoopConfiguration()).exists(hadoop_path))  # noqa: SLF001


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
