"""Iceberg tables as sources: their keys in YAML."""

from __future__ import annotations

from typing import Annotated, Any

from millstream.project.columns import ColumnReader
from millstream.project.shapes import describe_key
from millstream.project.values import RowSource
from millstream.sources.declaration import Declaration
from millstream.sources.rows import row_reader
from millstream.sources.tables import TableShape, check_folder, check_start, with_key


class IcebergShape(TableShape, kw_only=True):
    path: Annotated[
        str | None, describe_key("the folder of the table, relative to the project, if it is in no catalog")
    ] = None
    catalog: Annotated[
        str | None, describe_key("the catalog that has the table: one of `catalogs` of the target")
    ] = None
    table: Annotated[str | None, describe_key("the name of the table in the catalog: shop.orders")] = None
    start: Annotated[
        int | str | None,
        describe_key(
            "the snapshot or time to start from, such as '2026-01-01 00:00:00'; by default, all rows"
        ),
    ] = None


_read = row_reader("iceberg", "path", "catalog", "table", "start", options=("skip_changes",))


def _table(reader: ColumnReader, source: Any, shape: IcebergShape) -> RowSource:
    if shape.path is not None and shape.catalog is None and shape.table is None:
        check_folder(reader, shape)
    elif shape.path is not None or not shape.catalog or not shape.table:
        message = f"Iceberg table '{shape.name}' needs a path, or a catalog and a table"
        remedy = "write its folder, such as path: lake/orders, or its catalog: … and its name there, table: …"
        reader.report_at(reader.location(shape), "MS108", message, remedy)
    check_start(reader, shape, "snapshot")
    return with_key(reader, shape, _read(reader, source, shape))


DECLARATION = Declaration(
    title="Iceberg table", key="iceberg_tables", shape=IcebergShape, read=_table, unit="snapshots"
)
