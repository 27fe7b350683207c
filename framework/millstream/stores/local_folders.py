"""Tables without Spark in stores that have a folder for each of them, and run no queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.project.folders import is_outside
from millstream.stores.folders import TableFolder
from millstream.stores.tables.relations import StoredRelation
from millstream.stores.tables.values import Answer


class LocalFolders(Struct, frozen=True):
    """What these stores have in common of the port `LocalTables`."""

    tables: TableFolder
    settings: dict[str, Any]
    """Those of the target."""

    @property
    def folder(self) -> str:
        return self.tables.path

    def in_catalog(self, _relation: NodeId) -> None:
        return None

    def names(self) -> list[str]:
        raise NotImplementedError("tables are folders")

    def drop_all(self) -> None:
        raise NotImplementedError("tables are folders")

    def answer(
        self, _sql: str, _relations: Mapping[str, StoredRelation], *, zone: str, limit: int | None
    ) -> Answer | None:
        """Return None, since DataFusion runs all queries of their tables."""

    def outside(self, removed_folder: Path) -> str | None:
        return self.folder if is_outside(self.folder, removed_folder) else None
