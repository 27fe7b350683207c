"""Where a target has its Iceberg tables: in a folder, or in a namespace of a REST catalog."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.project.names import Environment, environment_name
from millstream.project.secrets import Secret, mask_secrets, revealed_text
from millstream.project.values import Target
from millstream.stores.folders import TableFolder, table_folder

_PREFIX = "millstream"
"""The start of the names of tables that are no model's own."""


class CatalogTable(Struct, frozen=True):
    namespace: tuple[str, ...]
    name: str


class CatalogNamespace(Struct, frozen=True):
    """A namespace of a catalog; a table there has the name of its model."""

    catalog: str
    properties: tuple[tuple[str, Secret | str], ...]
    name: str
    """Where tables are written."""
    environment: Environment | None = None
    production: str = ""
    """In an environment: the namespace of tables that are read from production."""
    location: Location | None = None

    def read(self, relation: NodeId) -> CatalogTable:
        deferred = self.environment is not None and self.environment.defers(relation)
        return _named(self.production if deferred else self.name, relation)

    def written(self, relation: NodeId) -> CatalogTable:
        """Return the table to write, which in an environment is never one of production."""
        return _named(self.name, relation)

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))

    @property
    def clear_properties(self) -> dict[str, str]:
        return {name: revealed_text(value) for name, value in self.properties}

    @property
    def address(self) -> str:
        """Where the tables are, for messages."""
        return f"catalog '{self.catalog}', namespace {self.name}"

    def catalog_error(self, reason: str, remedy: str) -> MillstreamError:
        """Return the error of a catalog that can't be used; its secrets are not shown."""
        secrets = [value for _, value in self.properties if isinstance(value, Secret)]
        text = mask_secrets(" ".join(reason.split())[:300], secrets)
        return MillstreamError(
            Diagnostic("MS633", f"the Iceberg catalog '{self.catalog}' {text}", self.location, remedy)
        )

    def refused(self, reason: str) -> MillstreamError:
        return self.catalog_error(
            f"refuses access: {reason}",
            f"set a valid token or credential, with its scope, for '{self.catalog}' under `catalogs:`",
        )

    def unreachable(self, reason: str) -> MillstreamError:
        remedy = f"start it, or fix uri and warehouse of '{self.catalog}' under `catalogs:`"
        return self.catalog_error(f"can't be used: {reason}", remedy)

    def missing_namespace(self) -> MillstreamError:
        return self.catalog_error(
            f"has no namespace '{self.name}'",
            "create it in the catalog, or name another one: iceberg_namespace: …",
        )


def _named(namespace: str, relation: NodeId) -> CatalogTable:
    """Return the table of a relation; that of `orders.rebuilt` is `millstream_rebuilt_orders`.

    Many catalogs take no name with a dot.
    """
    model, *endings = relation.name.split(".")
    name = "_".join((_PREFIX, *reversed(endings), model)) if endings else model
    return CatalogTable(tuple(namespace.split(".")), name)


TablesLocation = TableFolder | CatalogNamespace


def iceberg_location(target: Target, root: Path) -> TablesLocation:
    settings = target.settings.get("tables") or {}
    if not settings.get("iceberg_catalog"):
        return table_folder(target, root, "iceberg_path", "iceberg")
    catalog = revealed_text(settings["iceberg_catalog"])
    *parents, production = revealed_text(settings["iceberg_namespace"]).split(".")
    properties = (target.settings.get("catalogs") or {})[catalog]
    return CatalogNamespace(
        catalog,
        tuple(sorted((str(name), _as_text(value)) for name, value in properties.items())),
        ".".join((*parents, environment_name(target.environment, production))),
        target.environment,
        ".".join((*parents, production)) if target.environment else "",
        target.location,
    )


def _as_text(value: object) -> Secret | str:
    """Return a property as catalogs expect it, such as `true`."""
    if isinstance(value, Secret):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
