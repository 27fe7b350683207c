"""All events of a topic in a Delta table, as Delta's own sink appends them: each batch once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

from by_hand.kafka import Query, query_context, read, with_time
from by_hand.schemas import STOREFRONT_EVENTS
from by_hand.tables import path


def queries(
    spark: SparkSession,
    bootstrap: str,
    checkpoints: Any,
    prefix: str = "",
    producer: Mapping[str, str] | None = None,
) -> list[Query]:
    context = query_context(spark, bootstrap, checkpoints, prefix, producer)

    def start() -> StreamingQuery:
        events = with_time(read(context, "storefront_events", STOREFRONT_EVENTS))
        return (
            events.withColumn("day", f.to_date("event_time"))
            .writeStream.queryName("raw_events")
            .format("delta")
            .partitionBy("day")
            .option("checkpointLocation", f"{context.checkpoints}/raw_events")
            .trigger(availableNow=True)
            .start(path(context, "raw_events"))
        )

    return [Query("raw_events", start)]
