"""Which state store a query has, and how much memory it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from millstream.core.byte_sizes import bytes_of
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import Catalog
from millstream.queries.values import Query

Store = Literal["rocksdb", "memory"]


def store_of(query: Query, catalog: Catalog) -> Store:
    stores = {store for options in _options(query, catalog) if (store := options.get("store"))}
    return "memory" if stores == {"memory"} else "rocksdb"


def is_limited(query: Query, catalog: Catalog) -> bool:
    """Return whether the memory of a query's RocksDB is limited."""
    return store_of(query, catalog) == "rocksdb" and any(
        options.get("memory") for options in _options(query, catalog)
    )


def memory_budget(catalog: Catalog) -> int:
    """Return the sum of all models' state memory, in bytes.

    RocksDBMemoryManager has one cache for all bounded states of an executor. The first state sets its size,
    so all states must request the same.
    """
    sizes = (_state_options(catalog, model).get("memory") for model in catalog.models)
    return sum(bytes_of(size) for size in sizes if size)


def _options(query: Query, catalog: Catalog) -> list[Mapping[str, Any]]:
    return [_state_options(catalog, model) for model in _models(query, catalog)]


def _models(query: Query, catalog: Catalog) -> list[NodeId]:
    """Return the models that a query stores, and the views that it computes for them."""
    stored = query.stored
    return [
        model
        for model in query.models
        if model in stored or (model in catalog.models and catalog.models[model].materialization.inlined)
    ]


def _state_options(catalog: Catalog, model: NodeId) -> Mapping[str, Any]:
    spec = catalog.models.get(model)
    return {} if spec is None else spec.options.get("state") or {}
