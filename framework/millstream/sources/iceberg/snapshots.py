"""The snapshots of an Iceberg table, by pyiceberg: which files each adds, and which ones change.

Spark's Python workers run this. Those of a cluster have pyiceberg but no Millstream: pickle sends them this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from millstream.sources.tables import START_OVER

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.table.snapshots import Snapshot

ALL_ROWS = -1
"""The snapshot before all others: what comes after it is the table as it is."""
BEFORE_FIRST = 0
"""The parent of a snapshot that has none: what comes after it is what each snapshot adds."""

FAILED = "bad Iceberg table: "
"""The prefix of a problem's text, by which it is recognised within Spark's message."""
REMEDY = " | "

ID, SNAPSHOT, NUMBER = "iceberg_table", "snapshot", "number"
"""A position in Spark's log: the table's id, the last snapshot that is read, and its sequence number."""


class TableProblemError(Exception):
    def __init__(self, message: str, remedy: str = START_OVER) -> None:
        super().__init__(f"{FAILED}{message}{REMEDY}{remedy}")
        self.message, self.remedy = message, remedy

    def __reduce__(self) -> Any:
        return TableProblemError, (self.message, self.remedy)


class TableAddress(NamedTuple):
    """Where a table is: a folder, or a name in a catalog."""

    source: str
    folder: str
    catalog: str = ""
    properties: Mapping[str, str] = {}
    name: str = ""


class ReadColumn(NamedTuple):
    """A column that a query reads: its id in the table, and its type when the query started."""

    name: str
    id: int
    type: str


def load_table(address: TableAddress) -> Table:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    from pyiceberg.table import StaticTable

    hint = Path(address.folder) / "metadata" / "version-hint.text"
    described = f"{address.name} of catalog '{address.catalog}'" if address.name else address.folder
    if not address.name and not hint.is_file():
        if not any(hint.parent.glob("*.metadata.json")):
            message = f"the Iceberg table of source '{address.source}' does not exist: {described}"
            raise TableProblemError(message, "let its writer create it, or change the path of the source")
        message = (
            f"the folder of the Iceberg table does not say which version is the newest: {hint} is missing"
        )
        remedy = "the table belongs to a catalog: set `catalog` and `table` of the source instead of `path`"
        raise TableProblemError(message, remedy)
    try:
        if address.name:
            table = load_catalog(address.catalog, **address.properties).load_table(address.name)
        else:
            table = StaticTable.from_metadata(address.folder)
    except (NoSuchTableError, NoSuchNamespaceError):
        message = f"the Iceberg table of source '{address.source}' does not exist: {described}"
        raise TableProblemError(message, "let its writer create it, or change the source") from None
    except Exception as error:  # noqa: BLE001 -- each catalog and file system has errors of its own
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        message = f"the Iceberg table of source '{address.source}' can't be read: {described}: {reason}"
        raise TableProblemError(message, "check the storage, and `catalogs` of the target") from None
    if table.metadata.format_version < 2:
        message = f"the Iceberg table of source '{address.source}' has format version 1"
        remedy = "let its writer set the property format-version to 2, which keeps the rows"
        raise TableProblemError(message, remedy)
    return table


def newest(table: Table) -> dict[str, Any]:
    """Return the position after all snapshots."""
    snapshot = table.current_snapshot()
    return _position(table, snapshot.snapshot_id, _number(snapshot)) if snapshot else everything(table)


def everything(table: Table) -> dict[str, Any]:
    """Return the position before all rows."""
    return _position(table, ALL_ROWS, 0)


def before(table: Table, start: int | None, millis: int | None) -> dict[str, Any]:
    """Return the position before a snapshot, or before those since a time; without both, before all rows."""
    if start is None and millis is None:
        return everything(table)
    first = _snapshot(table, start) if start is not None else _since(table, millis or 0)
    if first is None:
        return everything(table)
    return _position(table, first.parent_snapshot_id or BEFORE_FIRST, _number(first) - 1)


def _snapshot(table: Table, id_: int) -> Snapshot:
    if (snapshot := table.snapshot_by_id(id_)) is None:
        newest_ids = ", ".join(str(snapshot.snapshot_id) for snapshot in table.snapshots()[-3:]) or "none"
        message = f"it starts at snapshot {id_}, which the table does not have; its newest ones: {newest_ids}"
        raise TableProblemError(message, "set start: of the source to a snapshot that the table has")
    return snapshot


def _since(table: Table, millis: int) -> Snapshot | None:
    """Return the first snapshot since a time, of those that the table still has; None if it is empty."""
    first = None
    for snapshot in _ancestors(table, newest(table)[SNAPSHOT]):
        if snapshot is None:
            break
        if snapshot.timestamp_ms < millis:
            if first is not None:
                break
            message = (
                f"it starts at {_time(millis)}, and the table's newest snapshot is of "
                f"{_time(snapshot.timestamp_ms)}"
            )
            raise TableProblemError(message, "set start: of the source to an earlier time, or to a snapshot")
        first = snapshot
    return first


def _time(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def _position(table: Table, snapshot: int, number: int) -> dict[str, Any]:
    return {ID: str(table.metadata.table_uuid), SNAPSHOT: snapshot, NUMBER: number}


def _number(snapshot: Snapshot) -> int:
    return snapshot.sequence_number or 0


def check_columns(table: Table, columns: list[ReadColumn]) -> None:
    """Raise if a column was removed or has another type since a query started; it finds them by their ids."""
    schema = table.schema()
    for column in columns:
        try:
            field = schema.find_field(column.id)
        except ValueError:
            raise TableProblemError(f"the table no longer has the column '{column.name}'") from None
        if str(field.field_type) != column.type:
            raise TableProblemError(
                f"column '{column.name}' of the table is now {field.field_type}, no longer {column.type}",
                "declare it with its new type",
            )


def check_progress(table: Table, start: Mapping[str, Any]) -> None:
    """Raise if a table is not a later state of the one that was read."""
    end = newest(table)
    if end[ID] != start[ID]:
        raise TableProblemError("the table that it has read was recreated")
    if end[NUMBER] < start[NUMBER]:
        message = f"the table was rolled back to snapshot {end[SNAPSHOT]}, before {start[SNAPSHOT]}"
        raise TableProblemError(message)


def added_files(
    table: Table, start: Mapping[str, Any], end: Mapping[str, Any], *, skip_changes: bool
) -> list[FileScanTask]:
    """Return the files with the rows that came between two positions."""
    from pyiceberg.table import FileScanTask

    if start[SNAPSHOT] == ALL_ROWS:
        return files_at(table, end)
    added: list[FileScanTask] = []
    for snapshot in _snapshots_between(table, start, end):
        if _is_append(snapshot, skip_changes=skip_changes):
            added += [FileScanTask(file) for file in _files_added_by(table, snapshot)]
    return added


def files_at(table: Table, position: Mapping[str, Any]) -> list[FileScanTask]:
    """Return all files of a snapshot, each with the files of its deleted rows."""
    if position[SNAPSHOT] == ALL_ROWS:
        return []
    if table.snapshot_by_id(position[SNAPSHOT]) is None:
        raise TableProblemError(_expired(position[SNAPSHOT]), _expired_remedy())
    try:
        return list(table.scan(snapshot_id=position[SNAPSHOT]).plan_files())
    except ValueError as error:
        if "equality delete" not in str(error):
            raise
        message = f"rows of the table at snapshot {position[SNAPSHOT]} are deleted by equality, as Flink does"
        remedy = "let its writer rewrite the data files, which applies the deletes"
        raise TableProblemError(message, remedy) from None


def changed_files(
    table: Table, start: Mapping[str, Any], end: Mapping[str, Any]
) -> tuple[list[FileScanTask], list[FileScanTask]]:
    """Return the files that differ between two positions, with the deletes of rows, as they were and are."""
    was = {_identity(file): file for file in files_at(table, start)}
    now = {_identity(file): file for file in files_at(table, end)}
    return (
        [file for key, file in was.items() if key not in now],
        [file for key, file in now.items() if key not in was],
    )


def _identity(file: FileScanTask) -> tuple[str, frozenset[Any]]:
    deletes = frozenset((delete.file_path, _offset(delete)) for delete in file.delete_files)
    return file.file.file_path, deletes


def _offset(file: DataFile) -> Any:
    """Return where a file of several deletion vectors has that of one data file."""
    return getattr(file, "content_offset", None)


def _snapshots_between(table: Table, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[Snapshot]:
    """Return the snapshots after a position, the oldest first."""
    between: list[Snapshot] = []
    if end[SNAPSHOT] in {ALL_ROWS, start[SNAPSHOT]}:
        return between
    for snapshot in _ancestors(table, end[SNAPSHOT]):
        if snapshot is None:
            break
        between.append(snapshot)
        # Where the snapshots before have expired, pyiceberg leaves no parent: only the number tells of them.
        follows = snapshot.parent_snapshot_id or _number(snapshot) == start[NUMBER] + 1
        if follows and (snapshot.parent_snapshot_id or BEFORE_FIRST) == start[SNAPSHOT]:
            return between[::-1]
    if table.snapshot_by_id(start[SNAPSHOT]) is None:
        raise TableProblemError(_expired(start[SNAPSHOT]), _expired_remedy())
    raise TableProblemError(
        f"the table was replaced or rolled back: snapshot {end[SNAPSHOT]} does not follow {start[SNAPSHOT]}"
    )


def _ancestors(table: Table, id_: int) -> Iterator[Snapshot | None]:
    """Yield a snapshot and those before it; None at last if the next one has expired."""
    parent: int | None = None if id_ == ALL_ROWS else id_
    while parent is not None:
        snapshot = table.snapshot_by_id(parent)
        yield snapshot
        parent = snapshot.parent_snapshot_id if snapshot else None


def _is_append(snapshot: Snapshot, *, skip_changes: bool) -> bool:
    """Whether a snapshot adds rows; raise if it also changes some."""
    from pyiceberg.table.snapshots import Operation

    summary = snapshot.summary
    operation = summary.operation if summary else Operation.OVERWRITE
    if operation == Operation.APPEND:
        return True
    if operation == Operation.REPLACE:
        return False
    if operation == Operation.OVERWRITE and summary and _only_adds(summary):
        return True
    if skip_changes:
        return False
    message = f"snapshot {snapshot.snapshot_id} of the table deletes or changes rows ({operation.value})"
    remedy = f"set skip_changes: true for the source to leave out such snapshots; or {START_OVER}"
    raise TableProblemError(message, remedy)


def _only_adds(summary: Mapping[str, Any]) -> bool:
    """Whether nothing was there that an overwrite replaces."""
    removes = ("deleted-data-files", "added-delete-files", "removed-delete-files")
    return bool(summary["added-data-files"]) and not any(int(summary[name] or 0) for name in removes)


def _files_added_by(table: Table, snapshot: Snapshot) -> Iterator[DataFile]:
    from pyiceberg.manifest import ManifestContent, ManifestEntryStatus

    for manifest in snapshot.manifests(table.io):
        if manifest.content != ManifestContent.DATA or manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in manifest.fetch_manifest_entry(table.io):
            if entry.status == ManifestEntryStatus.ADDED and entry.snapshot_id == snapshot.snapshot_id:
                yield entry.data_file


def _expired(snapshot: int) -> str:
    since = f" since {snapshot}, which it has read" if snapshot != BEFORE_FIRST else " from its start on"
    return f"the table no longer has all snapshots{since}"


def _expired_remedy() -> str:
    return f"{START_OVER}; let the table keep its snapshots for longer: history.expire.max-snapshot-age-ms"
