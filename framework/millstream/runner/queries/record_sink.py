"""Writes records to Kafka by the producers of Spark's own sink, but also with timestamps."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

_FORMAT = "millstream.spark.RecordSink"


def write_records(records: DataFrame, options: Mapping[str, str]) -> None:
    """Send records; `options` are those of Spark's sink, and a `header` for all with its `header.value`."""
    records.write.format(_FORMAT).options(**options).mode("append").save()
