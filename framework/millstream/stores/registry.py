"""The registry of stores. Everything that depends on a store's name starts here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from millstream.core.known_failures import KnownFailure
from millstream.stores.declaration import StoreDeclaration

STORES = (
    "delta",
    "postgres",
    "iceberg",
    "mysql",
    "parquet",
)

DEFAULT = STORES[0]
"""The store of tables for which no other is configured, and of all reference topics."""

if TYPE_CHECKING:
    StoreName: TypeAlias = str
else:
    StoreName = Literal[STORES]


def store_module(store: str, module: str) -> Any:
    return import_module(f"{__package__}.{store}.{module}")


@cache
def store_declaration(store: str) -> StoreDeclaration:
    declared: StoreDeclaration = store_module(store, "declaration").DECLARATION
    return declared


def configured_stores(settings: Mapping[str, Any]) -> list[str]:
    """Return the stores that a target can use; `settings` are its `tables:`."""
    return [store for store in STORES if _is_configured(store_declaration(store), settings)]


def _is_configured(declared: StoreDeclaration, settings: Mapping[str, Any]) -> bool:
    options = (declared.required, *((declared.in_catalog,) if declared.in_catalog else ()))
    return any(all(settings.get(key) for key in keys) for keys in options)


def catalogs_of_stores(settings: Mapping[str, Any]) -> list[Any]:
    """Return the catalogs that `tables:` of a target name."""
    options = (next(iter(store_declaration(store).in_catalog), "") for store in STORES)
    return [settings[option] for option in options if settings.get(option)]


def choices_with_change_feed() -> str:
    """Return the options by which a table gets a store with a change feed, for remedies."""
    return " or ".join(f"store: {store}" for store in STORES if store_declaration(store).change_feed)


def choices_with_versions() -> str:
    """Return the options by which a table gets a store that tables over tables can read, for remedies."""
    return " or ".join(f"store: {store}" for store in STORES if store_declaration(store).versions)


def jar_files() -> dict[str, Path]:
    """Return the jar list of each store that needs jars."""
    files = {store: Path(__file__).parent / store / "jars.toml" for store in STORES}
    return {store: file for store, file in files.items() if file.is_file()}


def store_failures() -> Iterator[KnownFailure]:
    """Yield why queries that read or write tables fail, of each store that knows its errors."""
    for store in STORES:
        if find_spec(f"{__package__}.{store}.failures") is not None:
            yield from store_module(store, "failures").FAILURES
