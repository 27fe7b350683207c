"""Delta tables as sources: their keys in YAML."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from millstream.project.columns import ColumnReader
from millstream.project.folders import local_path
from millstream.project.shapes import describe_key
from millstream.project.values import RowSource
from millstream.sources.declaration import Declaration
from millstream.sources.rows import RowShape, row_reader


class DeltaShape(RowShape, kw_only=True):
    path: Annotated[str, describe_key("the folder of the table, relative to the project")]
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
    return _read(reader, source, shape)


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
