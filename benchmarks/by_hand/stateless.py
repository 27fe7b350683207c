"""Six results from one topic, without state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from by_hand.kafka import Query, QueryContext, query_context, read, sink, with_time
from by_hand.schemas import STOREFRONT_EVENTS
from by_hand.scores import calculate_score


def queries(
    spark: SparkSession,
    bootstrap: str,
    checkpoints: Any,
    prefix: str = "",
    producer: Mapping[str, str] | None = None,
) -> list[Query]:
    context = query_context(spark, bootstrap, checkpoints, prefix, producer)
    models = (scored_events, purchases, product_interest, searches, mobile_visits, promising_leads)
    return [sink(context, rows, "user_id") for rows in models]


def events(context: QueryContext) -> DataFrame:
    return with_time(read(context, "storefront_events", STOREFRONT_EVENTS))


def scored_events(context: QueryContext) -> DataFrame:
    return (
        events(context)
        .where("type not in ('scroll', 'hover')")
        .select(
            f.lit("PROCESSED").alias("status"),
            f.col("type").alias("event_type"),
            "user_id",
            "product_id",
            "category",
            calculate_score("type", "category", "value").alias("score"),
            f.round("value", 2).alias("value"),
            "timestamp",
            "metadata",
        )
    )


def purchases(context: QueryContext) -> DataFrame:
    return (
        events(context)
        .where("type = 'purchase'")
        .select(
            "event_id", "user_id", "product_id", "category", f.round("value", 2).alias("value"), "event_time"
        )
    )


def product_interest(context: QueryContext) -> DataFrame:
    weight = f.when(f.col("type") == "purchase", 10).when(f.col("type") == "click", 3).otherwise(1)
    return (
        events(context)
        .where("type in ('view', 'click', 'purchase')")
        .select("user_id", "product_id", "category", weight.alias("weight"), "event_time")
    )


def searches(context: QueryContext) -> DataFrame:
    return (
        events(context)
        .where("type = 'search'")
        .select("event_id", "user_id", "session_id", "category", "metadata.browser", "event_time")
    )


def mobile_visits(context: QueryContext) -> DataFrame:
    return (
        events(context)
        .where("metadata.device = 'mobile'")
        .select(
            "user_id",
            "session_id",
            "type",
            f.concat("metadata.browser", f.lit(" on "), "metadata.device").alias("client"),
            "timestamp",
        )
    )


def promising_leads(context: QueryContext) -> DataFrame:
    return (
        events(context)
        .where("type in ('purchase', 'search') and category in ('electronics', 'home')")
        .select(
            "event_id",
            "user_id",
            "category",
            calculate_score("type", "category", "value").alias("score"),
            "event_time",
        )
    )
