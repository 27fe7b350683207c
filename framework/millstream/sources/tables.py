"""Tables that other programs write, as sources: what kinds of tables share, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, did_you_mean
from millstream.project.columns import ColumnReader, column_names
from millstream.project.folders import local_path
from millstream.project.s3 import S3
from millstream.project.shapes import Names, describe_key
from millstream.project.values import RowSource
from millstream.sources.positions import Position
from millstream.sources.rows import RowShape

START_OVER = (
    "`millstream build --full-refresh` removes the rows and state of the models, and starts over with the "
    "rows that the table has"
)
"""The remedy of a query that can't go on with what the writer of a table did."""


class TableShape(RowShape, kw_only=True):
    key: Annotated[Names, describe_key("the columns that identify a row, if rows change")] = []
    skip_changes: Annotated[
        bool, describe_key("leave out versions of the table that delete or change rows, instead of failing")
    ] = False


def check_folder(reader: ColumnReader, shape: Any, key: str = "path", *, in_s3: bool = False) -> None:
    """Report a path that is not a folder of this machine, nor in S3 if it can be there."""
    path = getattr(shape, key)
    if not path.strip() or (local_path(path) is None and not (in_s3 and path.startswith(S3))):
        message = f"'{path}' is not a folder of this machine"
        remedy = "name the folder, which each machine of the cluster has at this path"
        if in_s3:
            message, remedy = f"{message}, nor in S3: s3a://bucket/folder", f"{remedy}, or an address in S3"
        reader.report_at(reader.location(shape, key), "MS107", message, remedy)


def check_start(reader: ColumnReader, shape: Any, version: str) -> None:
    """Report a `start` that is neither a version nor a time; `version` is what the kind calls the first."""
    if shape.start is not None and not _is_start(shape.start):
        message = f"'{shape.start}' is not a {version} or a time"
        remedy = "write a number, such as start: 12, or a time, such as start: '2026-01-01 00:00:00'"
        reader.report_at(reader.location(shape, "start"), "MS107", message, remedy)


def _is_start(start: int | str) -> bool:
    if isinstance(start, int):
        return start >= 0
    try:
        datetime.fromisoformat(start)
    except ValueError:
        return False
    return True


def with_key(reader: ColumnReader, shape: Any, table: RowSource) -> RowSource:
    """Return a table whose rows change, if it has a key, which is never NULL then."""
    from millstream.plan.from_sql.row_sources import POSITION  # which other tables need not load

    if not shape.key:
        return table
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


def wrong_column(
    source: RowSource, title: str, name: str, stored: str | None, names: Iterable[str]
) -> Diagnostic:
    """Return the problem of a column that the table lacks (`stored` is None), or has with another type."""
    column = next(column for column in source.columns if column.name == name)
    if stored is None:
        message = f"the {title} of source '{source.id}' has no column '{name}'"
        remedy = did_you_mean(name, list(names), "remove the column from the source")
    else:
        message = f"column '{name}' of the {title} is {stored}, not {column.type}"
        remedy = f"declare it with type: {stored}"
    return Diagnostic("MS645", message, column.location, remedy)


class VersionPosition(Position, frozen=True):
    """A position between two versions of a table."""

    word: ClassVar[str] = "version"
    first: ClassVar[int] = 0
    """The number of a table's first version."""

    table: str
    """The table's id: one that is recreated in the same place has another one."""
    version: int
    """How many versions are read."""

    def covers(self, other: VersionPosition, /) -> bool:
        return self.table == other.table and self.version >= other.version

    def earlier(self, other: VersionPosition, /) -> VersionPosition:
        return min(self, other, key=lambda position: position.version)

    def later(self, other: VersionPosition, /) -> VersionPosition:
        return max(self, other, key=lambda position: position.version)

    def since(self, start: VersionPosition | None, /) -> int:
        return self.version - self._read_before(start)

    def texts(self, stream: str, start: VersionPosition | None, /) -> Iterator[str]:
        first, last = self.first + self._read_before(start), self.first + self.version - 1
        if first <= last:
            numbers = f"{self.word} {last}" if first == last else f"{self.word}s {first} to {last}"
            yield f"{stream}, {numbers}"

    def parts(self) -> tuple[str, ...]:
        return tuple(map(str, self.stored()))

    def stored(self) -> Sequence[Any]:
        return [self.table, self.version]

    def _read_before(self, start: VersionPosition | None) -> int:
        return 0 if start is None or start.table != self.table else start.version
