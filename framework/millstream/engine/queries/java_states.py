"""Prepares sessions for processors with state in Java."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.engine.spark.settings import use_rocksdb


def use_java_states(session: SparkSession) -> None:
    """Set the state store of processors, and types that keep what passes Java as it is."""
    use_rocksdb(session)
    # Java's older types for dates have another calendar.
    session.conf.set("spark.sql.datetime.java8API.enabled", "true")
