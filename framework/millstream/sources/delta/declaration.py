"""Delta tables as sources: their keys in YAML."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec.structs import replace

from millstream.project.columns import ColumnReader
from millstream.project.s3 import S3
from millstream.project.shapes import describe_key
from millstream.project.values import RowSource
from millstream.sources.declaration import Declaration
from millstream.sources.rows import row_reader
from millstream.sources.tables import TableShape, check_folder, check_start, with_key


class DeltaShape(TableShape, kw_only=True):
    path: Annotated[
        str, describe_key("the folder of the table, relative to the project, or s3a://bucket/folder")
    ]
    start: Annotated[
        int | str | None,
        describe_key("the version or time to start from: 12, or '2026-01-01 00:00:00'; by default, all rows"),
    ] = None


_read = row_reader("delta", "path", "start", options=("skip_changes",))


def _table(reader: ColumnReader, source: Any, shape: DeltaShape) -> RowSource:
    check_folder(reader, shape, in_s3=True)
    check_start(reader, shape, "version")
    table = replace(_read(reader, source, shape), jars=("s3",) if shape.path.startswith(S3) else ())
    return with_key(reader, shape, table)


DECLARATION = Declaration(
    title="Delta table", key="delta_tables", shape=DeltaShape, read=_table, unit="versions"
)
