"""Begins a batch of a query for each new version of a table whose changes Spark can't stream."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from millstream.core.encoding import to_json
from millstream.core.node_id import NodeId
from millstream.engine.spark.jvm import implementing, own_class
from millstream.stores.spark import TableVersion


class WatchedTable:
    """Knows the newest version of a table; Spark's own threads call it through Py4J."""

    Java = implementing("millstream.spark.VersionSource$Watched")

    def __init__(self, newest: Callable[[], TableVersion]) -> None:
        self._newest = newest

    def newest(self) -> str:
        return to_json(self._newest()).decode()


def stream_versions(session: SparkSession, relation: NodeId, newest: Callable[[], TableVersion]) -> DataFrame:
    """Return a stream without rows that has a batch for each new version of a table."""
    own_class(session, "spark.VersionSource").watch(str(relation), WatchedTable(newest))
    source = session.readStream.format("millstream.spark.VersionSource")
    return source.option("millstream.table", str(relation)).load()
