"""Delta tables as sources: their keys in YAML."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec.structs import replace

from millstream.core.errors import did_you_mean
from millstream.project.columns import ColumnReader, column_names
from millstream.project.folders import local_path
from millstream.project.shapes import Names, describe_key
from millstream.project.values import RowSource
from millstream.sources.declaration import Declaration
from millstream.sources.rows import RowShape, row_reader


class DeltaShape(RowShape, kw_only=True):
    path: Annotated[str, describe_key("the folder of the table, relative to the project")]
    key: Annotated[
        Names,
        describe_key("the columns that identify a row, if rows change: the table's change feed is read"),
    ] = []
    start: Annotated[
        int | str | None,
        describe_key("the version or time to start from: 12, or '2026-01-01 00:00:00'; by default, all rows"),
    ] = None
    skip_changes: Annotated[
        bool, describe_key("leave out versions of the table that delete or change rows, instead of failing")
    ] = False


_read = row_reader("delta", "path", "start", options=("skip_changes",))


def _table(reader: ColumnReader, source: Any, shape: DeltaShape) -> RowSource:
    if not shape.path.strip() or local_path(shape.path) is None:
        message = f"'{shape.path}' is not a folder of this machine"
        remedy = "name the table's folder, which each machine of the cluster has at this path"
        reader.report_at(reader.location(shape, "path"), "MS107", message, remedy)
    if shape.start is not None and not _is_start(shape.start):
        message = f"'{shape.start}' is not a version or a time"
        remedy = "write a number, such as start: 12, or a time, such as start: '2026-01-01 00:00:00'"
        reader.report_at(reader.location(shape, "start"), "MS107", message, remedy)
    table = _read(reader, source, shape)
    return _with_key(reader, shape, table) if shape.key else table


def _with_key(reader: ColumnReader, shape: DeltaShape, table: RowSource) -> RowSource:
    """Return a table whose rows change; its key is never NULL."""
    from millstream.plan.from_sql.row_sources import POSITION  # which other tables need not load

    read = [column.name for column in table.columns if column.expression is None]
    keys = column_names(shape.key)
    for key in keys:
        if key not in read:
            message = f"the key '{key}' is not a column of the table"
            reader.report_at(
                reader.location(shape, "key"), "MS107", message, did_you_mean(key, read, "declare it")
            )
    for column in table.columns:
        if column.name.lower() == POSITION.name:
            message = f"'{column.name}' is a reserved column of tables with a key"
            reader.report_at(column.location, "MS110", message, "remove it, or the key")
    for name in ("start", "skip_changes", "watermark"):
        if getattr(shape, name):
            message = f"'{name}' does not apply to a table with a key, whose newest rows are read"
            reader.report_at(reader.location(shape, name), "MS107", message, "remove it, or the key")
    columns = (replace(c, nullable=c.nullable and c.name not in keys) for c in table.columns)
    return replace(table, keys=keys, columns=tuple(columns))


def _is_start(start: int | str) -> bool:
    if isinstance(start, int):
        return start >= 0
    try:
        datetime.fromisoformat(start)
    except ValueError:
        return False
    return True


DECLARATION = Declaration(
    title="Delta table", key="delta_tables", shape=DeltaShape, read=_table, unit="versions"
)
