"""Where one Iceberg table is: in a folder, or in a REST catalog. Only this module knows the difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol

from msgspec import Struct
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from millstream.core.node_id import NodeId
from millstream.project.secrets import revealed_text
from millstream.stores.folders import TableFolder
from millstream.stores.hadoop_files import files_of
from millstream.stores.iceberg.namespace import CatalogNamespace, CatalogTable, TablesLocation

_MISSING = ("NoSuchTableException", "NoSuchNamespaceException")
_REFUSED = ("NotAuthorizedException", "ForbiddenException")


class Address(Protocol):
    @property
    def shown(self) -> str: ...

    def load(self) -> Any | None:
        """Return the newest version of the table; None if there is none."""

    def builder(self, schema: Any) -> Any:
        """Return what creates or replaces the table."""

    def change(self, transaction: Any) -> None:
        """Commit a transaction that creates or replaces the table."""

    def drop(self) -> None: ...

    def folder(self) -> str:
        """Return the folder of an existing table, which also has notes."""


class InFolder(Struct, frozen=True):
    spark: SparkSession
    path: str

    def load(self) -> Any | None:
        return self._tables.load(self.path) if self._tables.exists(self.path) else None

    def builder(self, schema: Any) -> Any:
        return self._tables.buildTable(self.path, schema)

    def change(self, transaction: Any) -> None:
        transaction.commitTransaction()

    def drop(self) -> None:
        files_of(self.path, self.spark).remove(self.path)

    def folder(self) -> str:
        return self.path

    @property
    def shown(self) -> str:
        return self.path

    @property
    def _tables(self) -> Any:
        return java_of(self.spark).org.apache.iceberg.hadoop.HadoopTables(_hadoop(self.spark.sparkContext))


class InCatalog(Struct, frozen=True):
    spark: SparkSession
    namespace: CatalogNamespace
    table: CatalogTable

    def load(self) -> Any | None:
        with _located(self.namespace):
            try:
                return self._catalog.loadTable(self._identifier)
            except Py4JJavaError as error:
                if _class_of(error.java_exception) not in _MISSING:
                    raise
                return None

    def builder(self, schema: Any) -> Any:
        with _located(self.namespace):
            self._check_namespace()
            return self._catalog.buildTable(self._identifier, schema)

    def change(self, transaction: Any) -> None:
        with _located(self.namespace):
            transaction.commitTransaction()

    def drop(self) -> None:
        """Drop the table with its files, unless the catalog removes files by itself."""
        if (table := self.load()) is None:
            return
        with _located(self.namespace):
            self._catalog.dropTable(self._identifier, False)  # many catalogs refuse to remove files
        if removes_files(table):
            folder = str(table.location())
            files_of(folder, self.spark).remove(folder)

    def folder(self) -> str:
        if (table := self.load()) is None:
            raise FileNotFoundError(self.shown)
        return str(table.location())

    @property
    def shown(self) -> str:
        return f"{self.namespace.address}, table {self.table.name}"

    def _check_namespace(self) -> None:
        """Raise if the namespace does not exist; that of an environment is created."""
        identifier = self._identifier.namespace()
        if self._catalog.namespaceExists(identifier):
            return
        if self.namespace.environment is None:
            raise self.namespace.missing_namespace()
        self._catalog.createNamespace(identifier)

    @property
    def _catalog(self) -> Any:
        return _connected(self.spark.sparkContext, self.namespace.catalog, self.namespace.properties)

    @property
    def _identifier(self) -> Any:
        context: Any = self.spark.sparkContext
        names = (*self.table.namespace, self.table.name)
        levels = context._gateway.new_array(context._jvm.java.lang.String, len(names))  # noqa: SLF001
        for index, name in enumerate(names):
            levels[index] = name
        return java_of(self.spark).org.apache.iceberg.catalog.TableIdentifier.of(levels)


class Addresses(Struct, frozen=True):
    """Where a target has the tables of its models."""

    spark: SparkSession
    location: TablesLocation

    def read(self, relation: NodeId) -> Address:
        return self._address(self.location.read(relation))

    def written(self, relation: NodeId) -> Address:
        return self._address(self.location.written(relation))

    def _address(self, table: str | CatalogTable) -> Address:
        if isinstance(self.location, TableFolder):
            return InFolder(self.spark, str(table))
        assert isinstance(table, CatalogTable)
        return InCatalog(self.spark, self.location, table)


def removes_files(table: Any) -> bool:
    """Return whether Millstream removes files of a table: some catalogs do it, and forbid it to others."""
    return str(table.properties().getOrDefault("gc.enabled", "true")).lower() == "true"


def java_of(session: SparkSession) -> Any:
    return session._jvm  # noqa: SLF001 -- PySpark has no API for this


def _hadoop(context: SparkContext) -> Any:
    return context._jsc.hadoopConfiguration()  # noqa: SLF001


@lru_cache(maxsize=8)
def _connected(context: SparkContext, name: str, properties: tuple[tuple[str, Any], ...]) -> Any:
    """Return Iceberg's client of a catalog, which renews its tokens by itself."""
    java: Any = context._jvm  # noqa: SLF001
    settings = java.java.util.HashMap()
    for key, value in _client_properties(dict(properties)).items():
        settings.put(key, value)
    catalog = java.org.apache.iceberg.rest.RESTCatalog()
    catalog.setConf(_hadoop(context))
    catalog.initialize(name, settings)
    return catalog


def _client_properties(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of Iceberg's client; Spark writes the files, so both have one access to them."""
    clear = {key: revealed_text(value) for key, value in properties.items() if key != "type"}
    return {"io-impl": "org.apache.iceberg.hadoop.HadoopFileIO", **clear}


@contextmanager
def _located(namespace: CatalogNamespace) -> Iterator[None]:
    """Report a catalog that refuses access or does not answer."""
    try:
        yield
    except Py4JJavaError as error:
        exception = error.java_exception
        name, reason = _class_of(exception), str(exception.getMessage())
        if name in _REFUSED:
            raise namespace.refused(reason) from None
        if name == "NoSuchNamespaceException":
            raise namespace.missing_namespace() from None
        if not name.startswith("Commit"):
            raise namespace.unreachable(reason) from None
        raise


def _class_of(exception: Any) -> str:
    return str(exception.getClass().getSimpleName())
