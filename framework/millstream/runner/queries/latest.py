"""Of the rows of one batch, the newest of each key."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def newest(rows: DataFrame, keys: Sequence[str], order_by: str | None) -> DataFrame:
    """Keep one row per key: the greatest by `order_by`, and of equal ones the one that came last.

    Rows of one key come from one partition of a topic, in whose order they are numbered.
    """
    arrived = f.monotonically_increasing_id()
    order = f.struct(f.col(order_by), arrived) if order_by else arrived
    numbered = rows.select(f.struct("*").alias("row"), order.alias("at"))
    kept = numbered.groupBy(*(f.col("row").getField(key).alias(f"key_{i}") for i, key in enumerate(keys)))
    return kept.agg(f.max_by("row", "at").alias("row")).select("row.*")
