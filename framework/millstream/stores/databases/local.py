"""Tables in a database without Spark. The client library is only loaded for a connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.core.types import STRING, parse_type
from millstream.stores.databases.schema import NESTED, DatabaseSchema
from millstream.stores.tables.relations import StoredRelation
from millstream.stores.tables.values import Answer

if TYPE_CHECKING:
    from millstream.stores.tables.datafusion import OpenedTables


class LocalDatabase(Struct, frozen=True):
    schema: DatabaseSchema

    def answer(
        self, sql: str, relations: Mapping[str, StoredRelation], *, zone: str, limit: int | None
    ) -> Answer:
        from millstream.stores.databases import query

        return query.run_query(sql, self.schema, relations, zone=zone, limit=limit)

    def open(self, table: StoredRelation, opened: OpenedTables) -> None:
        from millstream.stores.databases.query import read_table

        columns = [(name, parse_type(kind)) for name, kind in table.columns]
        if (rows := read_table(self.schema.of(table.id), table, columns)) is not None:
            flat = [(name, STRING if isinstance(kind, NESTED) else kind) for name, kind in columns]
            opened.add_rows(table, flat, rows)

    @property
    def folder(self) -> str:
        return ""

    def in_catalog(self, _relation: NodeId) -> None:
        return None

    def names(self) -> list[str]:
        from millstream.stores.databases.table import schema_tables

        return schema_tables(self.schema)

    def drop_all(self) -> None:
        from millstream.stores.databases.table import drop_schema

        drop_schema(self.schema)

    def is_read(self, _relation: str, _offsets: Sequence[Mapping[str, Any]]) -> bool:
        return False  # its tables have no versions

    def version(self, _relation: str) -> None:
        return None

    def reached(self) -> str:
        dialect = self.schema.dialect
        with dialect.open(self.schema, read_only=True) as connection:
            return f"{dialect.server(connection)} at {self.schema.address}"

    def outside(self, _removed_folder: Path) -> str:
        return self.schema.address
