"""Iceberg tables without Spark: pyiceberg reads them, DataFusion runs queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.folders import local_path
from millstream.project.values import Target
from millstream.stores.folders import writable_folder
from millstream.stores.iceberg.folder import iceberg_folder
from millstream.stores.local_folders import LocalFolders
from millstream.stores.tables.relations import StoredRelation

if TYPE_CHECKING:
    from millstream.stores.tables.datafusion import OpenedTables


class LocalIceberg(LocalFolders, frozen=True):
    def open(self, table: StoredRelation, opened: OpenedTables) -> None:
        path = self.tables.read(table.id)
        folder = local_path(path)
        if folder is not None and not (folder / "metadata" / "version-hint.text").exists():
            return
        opened.add_arrow(table, _read(table, str(folder or path)))

    def is_read(self, _relation: NodeId, _offsets: Sequence[Mapping[str, Any]]) -> bool:
        return False  # it has no change feed

    def version(self, relation: NodeId) -> str | None:
        if (folder := local_path(self.tables.read(relation))) is None:
            return None
        try:
            number = (folder / "metadata" / "version-hint.text").read_text().strip()
            metadata = msgspec.json.decode((folder / "metadata" / f"v{number}.metadata.json").read_bytes())
            return "{table-uuid} {current-snapshot-id}".format_map(metadata)
        except (OSError, KeyError, msgspec.DecodeError):
            return None

    def reached(self) -> str:
        return writable_folder(self.folder, "iceberg_path", "MS622")


def _read(table: StoredRelation, path: str) -> Any:
    """Return batches of Arrow with the rows of a table."""
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        message = f"reading the Iceberg table '{table.name}' needs the package pyiceberg"
        remedy = "install it: pip install 'millstream[iceberg]'"
        raise MillstreamError(Diagnostic("MS623", message, None, remedy)) from None
    try:
        return StaticTable.from_metadata(path).scan().to_arrow_batch_reader()
    except Exception as error:  # noqa: BLE001 -- each file system has errors of its own
        message = f"the table '{table.name}' can't be read: {str(error)[:300]}"
        remedy = "check that the storage is reachable and its credentials are in the environment"
        raise MillstreamError(Diagnostic("MS622", message, None, remedy)) from None


def locate(target: Target, root: Path) -> LocalIceberg:
    return LocalIceberg(iceberg_folder(target, root))
