"""The settings of each query's session: where it keeps its states, and whether batches without rows run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.physical.values import DeadLetters, Query
from millstream.plan.from_sql.catalog import Catalog

_STATE = "spark.sql.streaming.stateStore."
CHAINS = "spark.sql.streaming.statefulOperator.allowMultiple"
"""Without chains, a row is late by the watermark that its batch begins with, and all states of a query have
the same one; with chains, Spark takes that of the batch before (PropagateWatermarkSimulator)."""
_STORES = {
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}
_UNITS = {"k": 10, "m": 20, "g": 30}


def session_settings(query: Query, catalog: Catalog) -> dict[str, str]:
    """Return the settings of one query's session."""
    return {
        **state_settings(query, catalog),
        # Without windows to close, a batch without rows has nothing to say.
        "spark.sql.streaming.noDataMicroBatches.enabled": str(query.output_mode == "append").lower(),
    }


def state_settings(query: Query, catalog: Catalog) -> dict[str, str]:
    """Return where one query keeps its states, and in how much memory."""
    said = [_said(catalog, model) for model in _models(query, catalog)]
    stores = {store for each in said if (store := each.get("store"))}
    store = "memory" if stores == {"memory"} else "rocksdb"
    found = {f"{_STATE}providerClass": _STORES[store], CHAINS: str(query.chained).lower()}
    if store == "rocksdb" and any(each.get("memory") for each in said):
        found[f"{_STATE}rocksdb.boundedMemoryUsage"] = "true"
        found[f"{_STATE}rocksdb.maxMemoryUsageMB"] = str(_budget(catalog))
    return found


def _models(query: Query, catalog: Catalog) -> list[str]:
    """Return the models that a query stores, and the views that they are made of."""
    stored = {target.model for target in query.outputs if not isinstance(target, DeadLetters)}
    return [
        model
        for model in query.models
        if model in stored or (model in catalog.models and catalog.models[model].materialization.inlined)
    ]


def _said(catalog: Catalog, model: str) -> Mapping[str, Any]:
    spec = catalog.models.get(model)
    return {} if spec is None else spec.options.get("state") or {}


def _budget(catalog: Catalog) -> int:
    """Return the sum of what all models say, in MB.

    RocksDBMemoryManager has one cache for all states of an executor that are bounded, of the size that the
    first one asked for: so all must ask for the same.
    """
    sizes = (_said(catalog, model).get("memory") for model in catalog.models)
    return max(1, sum(_bytes(size) for size in sizes if size) >> 20)


def _bytes(size: str) -> int:
    """Return the number of bytes of `512 MB`."""
    letters = size.lower().rstrip("b").rstrip()
    unit = _UNITS.get(letters[-1:], 0)
    return int(letters.rstrip("kmg").rstrip()) << unit
