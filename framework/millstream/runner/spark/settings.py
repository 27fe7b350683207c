"""The settings of each query's session: its state store, and whether batches without rows run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.physical.values import Query
from millstream.plan.from_sql.catalog import Catalog

_STATE = "spark.sql.streaming.stateStore."
CHAINS = "spark.sql.streaming.statefulOperator.allowMultiple"
"""Without chained states, a row is late by the watermark at the start of its batch, which all states share.
With chained states, Spark uses the watermark of the previous batch (PropagateWatermarkSimulator)."""
_STORES = {
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}
_UNITS = {"k": 10, "m": 20, "g": 30}


def session_settings(query: Query, catalog: Catalog) -> dict[str, str]:
    return {
        **state_settings(query, catalog),
        # Without windows to close, a batch without rows has no output.
        "spark.sql.streaming.noDataMicroBatches.enabled": str(query.output_mode == "append").lower(),
    }


def state_settings(query: Query, catalog: Catalog) -> dict[str, str]:
    """Return the state store of a query, and its memory limit."""
    state_options = [_state_options(catalog, model) for model in _models(query, catalog)]
    stores = {store for each in state_options if (store := each.get("store"))}
    store = "memory" if stores == {"memory"} else "rocksdb"
    found = {f"{_STATE}providerClass": _STORES[store], CHAINS: str(query.chained).lower()}
    if store == "rocksdb" and any(each.get("memory") for each in state_options):
        found[f"{_STATE}rocksdb.boundedMemoryUsage"] = "true"
        found[f"{_STATE}rocksdb.maxMemoryUsageMB"] = str(_budget(catalog))
    return found


def _models(query: Query, catalog: Catalog) -> list[str]:
    """Return the models that a query stores, and the views that it computes for them."""
    stored = query.stored
    return [
        model
        for model in query.models
        if model in stored or (model in catalog.models and catalog.models[model].materialization.inlined)
    ]


def _state_options(catalog: Catalog, model: str) -> Mapping[str, Any]:
    spec = catalog.models.get(model)
    return {} if spec is None else spec.options.get("state") or {}


def _budget(catalog: Catalog) -> int:
    """Return the sum of all models' state memory, in MB.

    RocksDBMemoryManager has one cache for all bounded states of an executor. The first state sets its size,
    so all states must request the same.
    """
    sizes = (_state_options(catalog, model).get("memory") for model in catalog.models)
    return max(1, sum(_bytes(size) for size in sizes if size) >> 20)


def _bytes(size: str) -> int:
    """Return the number of bytes of `512 MB`."""
    text = size.lower().rstrip("b").rstrip()
    unit = _UNITS.get(text[-1:], 0)
    return int(text.rstrip("kmg").rstrip()) << unit
