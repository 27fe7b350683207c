"""Rows as a stream in exactly the micro-batches that are given."""

from __future__ import annotations

from pyspark.sql import DataFrame

from millstream.engine.spark.jvm import own_class


def stream_batches(rows: DataFrame, number: str, count: int) -> DataFrame:
    """Return rows as a stream of so many micro-batches; the last column is the `number` of the batch."""
    stream = own_class(rows.sparkSession, "spark.GivenBatches").stream(rows._jdf, count)  # noqa: SLF001
    return DataFrame(stream, rows.sparkSession).drop(number)
