"""The settings of each query's session: its state store, and whether batches without rows run."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.plan.from_sql.catalog import Catalog
from millstream.queries.state_store import Store, is_limited, memory_budget, store_of
from millstream.queries.values import Query

_STATE = "spark.sql.streaming.stateStore."
CHAINS = "spark.sql.streaming.statefulOperator.allowMultiple"
"""Without chained states, a row is late by the watermark at the start of its batch, which all states share.
With chained states, Spark uses the watermark of the previous batch (PropagateWatermarkSimulator)."""
_STORES = {
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}


def session_settings(query: Query, catalog: Catalog) -> dict[str, str]:
    return {
        **state_settings(query, catalog),
        # Without windows to close, a batch without rows has no output.
        "spark.sql.streaming.noDataMicroBatches.enabled": str(query.output_mode == "append").lower(),
    }


def store_settings(store: Store) -> dict[str, str]:
    """Return the settings that choose a state store, and what only one of them can store."""
    return {
        f"{_STATE}providerClass": _STORES[store],
        # One store in each partition for a join instead of four, with column families, which only RocksDB
        # has. A checkpoint keeps the version with which it began.
        "spark.sql.streaming.join.stateFormatVersion": "3" if store == "rocksdb" else "2",
    }


def use_rocksdb(session: SparkSession) -> None:
    """Set the only state store that `transformWithState` supports, whatever the target uses otherwise."""
    for name, value in store_settings("rocksdb").items():
        session.conf.set(name, value)


def use_java_states(session: SparkSession) -> None:
    """Set the state store of processors in Java, and types that keep what passes Java as it is."""
    use_rocksdb(session)
    # Java's older types for dates have another calendar.
    session.conf.set("spark.sql.datetime.java8API.enabled", "true")


def state_settings(query: Query, catalog: Catalog) -> dict[str, str]:
    """Return the state store of a query, and its memory limit."""
    settings = {**store_settings(store_of(query, catalog)), CHAINS: str(query.chained).lower()}
    if is_limited(query, catalog):
        settings[f"{_STATE}rocksdb.boundedMemoryUsage"] = "true"
        settings[f"{_STATE}rocksdb.maxMemoryUsageMB"] = str(max(1, memory_budget(catalog) >> 20))
    return settings
