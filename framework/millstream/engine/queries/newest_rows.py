"""The newest row of each key in a batch."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def latest_rows(rows: DataFrame, keys: Sequence[str], order_by: str | None) -> DataFrame:
    """Keep one row per key: the greatest by `order_by`, and of equal ones the last.

    Rows of one key come from one partition of a topic, and are numbered in its order.
    """
    arrived = f.monotonically_increasing_id()
    order = f.struct(f.col(order_by), arrived) if order_by else arrived
    numbered = rows.select(f.struct("*").alias("row"), order.alias("at"))
    latest = numbered.groupBy(*(f.col("row").getField(key).alias(f"key_{i}") for i, key in enumerate(keys)))
    return latest.agg(f.max_by("row", "at").alias("row")).select("row.*")
