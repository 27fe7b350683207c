"""Iceberg tables without Spark: pyiceberg reads them, DataFusion runs queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.folders import local_path
from millstream.project.s3 import iceberg_options
from millstream.project.values import Target
from millstream.stores.folders import TableFolder, writable_folder
from millstream.stores.iceberg.namespace import CatalogNamespace, iceberg_location
from millstream.stores.local import LocalTables
from millstream.stores.local_folders import LocalFolders
from millstream.stores.tables.relations import StoredRelation
from millstream.stores.tables.values import Answer

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from millstream.stores.tables.datafusion import OpenedTables


class LocalIceberg(LocalFolders, frozen=True):
    """Tables in folders."""

    def open(self, table: StoredRelation, opened: OpenedTables) -> None:
        path = self.tables.read(table.id)
        folder = local_path(path)
        if folder is not None and not (folder / "metadata" / "version-hint.text").exists():
            return
        with _reading(table.name):
            from pyiceberg.table import StaticTable

            options = iceberg_options(self.settings) if folder is None else {}
            rows = StaticTable.from_metadata(str(folder or path), options).scan().to_arrow_batch_reader()
        opened.add_arrow(table, rows)

    def is_read(self, relation: NodeId, offsets: Sequence[Mapping[str, Any]]) -> bool:
        if (metadata := self._metadata(relation)) is None:
            return False
        newest = {"table": metadata.get("table-uuid"), "number": metadata.get("last-sequence-number")}
        return newest in offsets

    def version(self, relation: NodeId) -> str | None:
        metadata = self._metadata(relation)
        return (
            None
            if metadata is None
            else f"{metadata.get('table-uuid')} {metadata.get('current-snapshot-id')}"
        )

    def _metadata(self, relation: NodeId) -> dict[str, Any] | None:
        if (folder := local_path(self.tables.read(relation))) is None:
            return None
        try:
            number = (folder / "metadata" / "version-hint.text").read_text().strip()
            file = folder / "metadata" / f"v{number}.metadata.json"
            return msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError):
            return None

    def reached(self) -> str:
        return writable_folder(self.folder, "iceberg_path", "MS622")


class LocalCatalog(Struct, frozen=True):
    """Tables in a REST catalog."""

    namespace: CatalogNamespace
    settings: dict[str, Any]
    """Those of the target: they say how tables in S3 are read, unless properties of the catalog do."""

    def answer(
        self, _sql: str, _relations: Mapping[str, StoredRelation], *, zone: str, limit: int | None
    ) -> Answer | None:
        """Return None, since DataFusion runs all queries of their tables."""

    def open(self, table: StoredRelation, opened: OpenedTables) -> None:
        stored = self.namespace.read(table.id)
        with _reading(table.name), self._connected() as catalog:
            if not catalog.table_exists((*stored.namespace, stored.name)):
                return
            rows = catalog.load_table((*stored.namespace, stored.name)).scan().to_arrow_batch_reader()
        opened.add_arrow(table, rows)

    @property
    def folder(self) -> str:
        return ""

    def in_catalog(self, relation: NodeId) -> tuple[str, str]:
        stored = self.namespace.written(relation)
        return self.namespace.catalog, ".".join((*stored.namespace, stored.name))

    def names(self) -> list[str]:
        levels = self.namespace.levels
        with self._connected() as catalog:
            if not catalog.namespace_exists(levels):
                return []
            return sorted(name for *_, name in catalog.list_tables(levels))

    def drop_all(self) -> None:
        assert self.namespace.environment is not None, "only the namespace of an environment is dropped"
        levels = self.namespace.levels
        with self._connected() as catalog:
            if not catalog.namespace_exists(levels):
                return
            for identifier in catalog.list_tables(levels):
                table = catalog.load_table(identifier)
                catalog.drop_table(identifier)
                if table.properties.get("gc.enabled", "true") == "true":
                    _remove_files(table)
            catalog.drop_namespace(levels)

    def is_read(self, _relation: NodeId, _offsets: Sequence[Mapping[str, Any]]) -> bool:
        return False  # it has no change feed

    def version(self, relation: NodeId) -> str | None:
        stored = self.namespace.read(relation)
        with self._connected() as catalog:
            if not catalog.table_exists((*stored.namespace, stored.name)):
                return None
            metadata = catalog.load_table((*stored.namespace, stored.name)).metadata
            return f"{metadata.table_uuid} {metadata.current_snapshot_id}"

    def reached(self) -> str:
        with self._connected() as catalog:
            if not catalog.namespace_exists(self.namespace.levels):
                raise self.namespace.missing_namespace()
        return self.namespace.address

    def outside(self, _removed_folder: Path) -> str:
        return self.namespace.address

    @contextmanager
    def _connected(self) -> Iterator[Catalog]:
        """Connect to the catalog, and report one that refuses access or does not answer."""
        with _installed("the Iceberg catalog"):
            from pyiceberg.catalog import load_catalog
            from pyiceberg.exceptions import ForbiddenError, OAuthError, RESTError, UnauthorizedError
            from requests.exceptions import RequestException
        properties = iceberg_options(self.settings) | self.namespace.clear_properties
        try:
            yield load_catalog(self.namespace.catalog, **properties)
        except (UnauthorizedError, ForbiddenError, OAuthError) as error:
            raise self.namespace.refused(str(error)) from None
        except (RESTError, RequestException) as error:
            raise self.namespace.unreachable(str(error)) from None


def _remove_files(table: Any) -> None:
    """Remove the folder of a table, which also has notes."""
    from pyiceberg.io.pyarrow import PyArrowFileIO

    io = PyArrowFileIO(table.io.properties)
    scheme, host, path = io.parse_location(table.location(), io.properties)
    with suppress(FileNotFoundError):  # the catalog has removed it
        io.fs_by_scheme(scheme, host).delete_dir(path)


@contextmanager
def _installed(what: str) -> Iterator[None]:
    try:
        yield
    except ImportError:
        message = f"reading {what} needs the package pyiceberg"
        remedy = "install it: pip install 'millstream[iceberg]'"
        raise MillstreamError(Diagnostic("MS623", message, None, remedy)) from None


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Report a table that can't be read."""
    with _installed(f"the Iceberg table '{name}'"):
        try:
            yield
        except (ImportError, MillstreamError):
            raise
        except Exception as error:  # noqa: BLE001 -- each file system has errors of its own
            message = f"the table '{name}' can't be read: {str(error)[:300]}"
            remedy = "check that the storage is reachable and its credentials are in the environment"
            raise MillstreamError(Diagnostic("MS622", message, None, remedy)) from None


def locate(target: Target, root: Path) -> LocalTables:
    location = iceberg_location(target, root)
    if isinstance(location, TableFolder):
        return LocalIceberg(location, target.settings)
    return LocalCatalog(location, target.settings)
