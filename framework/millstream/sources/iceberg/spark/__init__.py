"""Reads the rows of Iceberg tables with Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.iceberg_schemas import columns_of
from millstream.core.types import BOOLEAN, UNKNOWN, Field
from millstream.formats.sql import fields_to_ddl
from millstream.plan.from_sql.row_sources import POSITION
from millstream.project.values import Project, RowSource
from millstream.sources.iceberg import snapshots
from millstream.sources.iceberg.address import address_of, located_problems
from millstream.sources.iceberg.positions import IcebergPosition, ends
from millstream.sources.iceberg.spark import changes, reader
from millstream.sources.positions import Range
from millstream.sources.spark import DELETED, fields_of, typed_columns

_TITLE = "Iceberg table"

# Workers of a cluster need no Millstream: pickle sends them these modules.
for _module in (snapshots, changes, reader):
    cloudpickle.register_pickle_by_value(_module)  # type: ignore[no-untyped-call]


class IcebergRows(Struct, frozen=True):
    session: SparkSession
    source: RowSource
    project: Project

    def stream(self) -> DataFrame:
        return self._streamed()

    def after(self, position: IcebergPosition, /) -> DataFrame:
        return self._streamed(position)

    def rows(self) -> DataFrame:
        return self.between(Range(None, ends(self.source, self.project)))

    def between(self, part: Range) -> DataFrame:
        end, start = part.end, part.start
        assert isinstance(end, IcebergPosition)
        read, types = self._read(keys=())
        if isinstance(start, IcebergPosition):
            first = start.offset()
        else:
            with located_problems(self.source):
                table = snapshots.load_table(read.address)
                first = snapshots.before(table, read.start, read.start_millis)
        options = {reader.START: _json(first), reader.END: _json(end.offset())}
        rows = self.session.read.format(self._register(read)).schema(fields_to_ddl(self._fields))
        return typed_columns(rows.options(**options).load(), self.source, _TITLE, types)

    def _streamed(self, start: IcebergPosition | None = None) -> DataFrame:
        read, types = self._read(self.source.keys)
        extra = [Field(POSITION.name, POSITION.type), Field(DELETED, BOOLEAN)] if read.keys else []
        stream = self.session.readStream.format(self._register(read))
        stream = stream.schema(fields_to_ddl([*self._fields, *extra]))
        if start is not None:
            stream = stream.option(reader.START, _json(start.offset()))
        return typed_columns(stream.load(), self.source, _TITLE, types, [field.name for field in extra])

    @property
    def _fields(self) -> list[Field]:
        return [Field(field.name, field.type) for field in fields_of(self.source)]

    def _register(self, read: reader.TableRead) -> str:
        """Let the session know a data source for this table, and return its name."""
        kind = "iceberg_changes" if read.keys else "iceberg"
        name = f"{kind}_{self.source.id.replace('.', '_')}"
        self.session.dataSource.register(reader.data_source(name, read))
        return name

    def _read(self, keys: Sequence[str]) -> tuple[reader.TableRead, dict[str, str]]:
        """Return what is read, and the types of the table's columns, after a check of the declared ones."""
        address = address_of(self.source, self.project)
        with located_problems(self.source):
            schema = snapshots.load_table(address).schema()
        stored = dict(columns_of(schema.model_dump_json()))
        by_name = {field.name.lower(): field for field in schema.fields}
        columns = []
        for field in self._fields:
            if (column := by_name.get(field.name.lower())) is None:
                continue  # reported with the names that the table has
            if stored[column.name] == UNKNOWN:
                raise MillstreamError(self._unreadable(field.name, str(column.field_type)))
            columns.append(snapshots.ReadColumn(field.name, column.field_id, str(column.field_type)))
        read = reader.TableRead(
            address, columns, keys, *self._start(), bool(self.source.options.get("skip_changes"))
        )
        return read, {name: str(type_) for name, type_ in stored.items() if type_ != UNKNOWN}

    def _start(self) -> tuple[int | None, int | None]:
        """Return the snapshot to start from, or the time."""
        start = self.source.settings.get("start")
        if start is None or isinstance(start, int):
            return start, None
        time = datetime.fromisoformat(start)
        zone = ZoneInfo(str(self.project.target.settings.get("timezone", "UTC")))
        return None, round((time if time.tzinfo else time.replace(tzinfo=zone)).timestamp() * 1000)

    def _unreadable(self, name: str, type_: str) -> Diagnostic:
        column = next(column for column in self.source.columns if column.name == name)
        message = f"column '{name}' of the {_TITLE} is {type_}, which Millstream can't read"
        return Diagnostic("MS645", message, column.location, "remove the column from the source")


def _json(position: dict[str, Any]) -> str:
    return msgspec.json.encode(position).decode()


def connect(session: SparkSession, source: RowSource, project: Project) -> IcebergRows:
    return IcebergRows(session, source, project)
