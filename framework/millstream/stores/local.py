"""The port of stores without Spark: locates tables, and reads them on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.values import Target
from millstream.stores.registry import DEFAULT, configured_stores, store_declaration, store_module
from millstream.stores.tables.relations import StoredRelation
from millstream.stores.tables.values import Answer

if TYPE_CHECKING:
    from millstream.stores.tables.datafusion import OpenedTables


class LocalTables(Protocol):
    """The tables of one store on one target. Two are equal if they store tables in the same location."""

    def answer(
        self, sql: str, relations: Mapping[str, StoredRelation], /, *, zone: str, limit: int | None
    ) -> Answer | None:
        """Run a query that only reads tables of this store; None leaves it to DataFusion."""

    def open(self, table: StoredRelation, opened: OpenedTables) -> None:
        """Register a table in DataFusion. A missing table is skipped: its name may mean a column."""

    @property
    def folder(self) -> str:
        """The folder with all tables, on any file system; empty for a database or a catalog."""

    def in_catalog(self, relation: NodeId, /) -> tuple[str, str] | None:
        """Return the catalog in which a table is written, and its name there; None if it is in none."""

    def names(self) -> list[str]:
        """Return the names of all tables of an environment that are not in a folder."""

    def drop_all(self) -> None:
        """Drop all tables of an environment that are not in a folder."""

    def is_read(self, relation: NodeId, offsets: Sequence[Mapping[str, Any]], /) -> bool:
        """Whether a query has read all changes of a table; False if that is unknown.

        `offsets` are those up to which it has read its sources, as Spark's JSON.
        """

    def version(self, relation: NodeId, /) -> str | None:
        """Return what differs after each change of a table; None if that is unknown."""

    def reached(self) -> str:
        """Connect, and return what was found."""

    def outside(self, removed_folder: Path) -> str | None:
        """Return where tables are that `clean` keeps, for messages; `clean` only removes `removed_folder`."""


def store_of(relation: NodeId, model_store: str | None, target: Target) -> str:
    """Return the store of a model's table or of a reference topic; a `model_store` takes precedence."""
    settings = target.settings.get("tables") or {}
    store: str = model_store or settings.get("store") or DEFAULT
    if relation.kind == "source":
        return DEFAULT
    if store in configured_stores(settings):
        return store
    declared, name = store_declaration(store), relation.name
    message = (
        f"the table '{name}' is stored in {declared.title}, which target '{target.name}' does not configure"
    )
    needed = " or ".join(
        "{" + ", ".join(f"{key}: {example}" for key, example in options.items()) + ", …}"
        for options in (declared.required, declared.in_catalog)
        if options
    )
    remedy = f"add tables: {needed} to the target, or remove store: {store}"
    raise MillstreamError(Diagnostic("MS841", message, target.location, remedy))


def local_tables(store: str, target: Target, root: Path) -> LocalTables:
    tables: LocalTables = store_module(store, "local").locate(target, root)
    return tables


def all_local_tables(target: Target, root: Path) -> list[LocalTables]:
    return [
        local_tables(store, target, root) for store in configured_stores(target.settings.get("tables") or {})
    ]
