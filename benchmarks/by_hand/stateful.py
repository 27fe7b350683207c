"""Five aggregates on the key of one topic, each row written again whenever it changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from by_hand.kafka import Query, QueryContext, query_context, read, sink, with_time
from by_hand.schemas import ACCOUNT_ACTIVITY

TYPES = ("login", "page_view", "click", "purchase", "logout")


def queries(
    spark: SparkSession,
    bootstrap: str,
    checkpoints: Any,
    prefix: str = "",
    producer: Mapping[str, str] | None = None,
) -> list[Query]:
    context = query_context(spark, bootstrap, checkpoints, prefix, producer)
    models = (activity_totals, activity_types, activity_durations, last_activities, purchase_scores)
    return [sink(context, rows, "user_id", mode="update") for rows in models]


def activities(context: QueryContext) -> DataFrame:
    activity = with_time(read(context, "account_activity", ACCOUNT_ACTIVITY, "user_id"))
    return activity.where("activity_type is not null")


def activity_totals(context: QueryContext) -> DataFrame:
    totals = (
        activities(context)
        .groupBy("user_id")
        .agg(f.count("*").alias("activities"), f.sum("score").alias("total_score"))
    )
    return totals.withColumn("average_score", f.round(f.col("total_score") / f.col("activities"), 2))


def activity_types(context: QueryContext) -> DataFrame:
    counts = [f.count_if(f.col("activity_type") == kind).alias(f"{kind}_count") for kind in TYPES]
    return activities(context).groupBy("user_id").agg(*counts)


def activity_durations(context: QueryContext) -> DataFrame:
    return (
        activities(context)
        .groupBy("user_id")
        .agg(
            f.min("duration_ms").alias("shortest"),
            f.max("duration_ms").alias("longest"),
            f.sum("duration_ms").alias("total_duration"),
        )
    )


def last_activities(context: QueryContext) -> DataFrame:
    newest = f.max_by(f.struct("activity_type", "score", "session_id", "timestamp"), "event_time")
    return (
        activities(context)
        .groupBy("user_id")
        .agg(newest.alias("last_activity"), f.max("event_time").alias("last_active_at"))
    )


def purchase_scores(context: QueryContext) -> DataFrame:
    return (
        activities(context)
        .where("activity_type = 'purchase'")
        .groupBy("user_id")
        .agg(
            f.count("*").alias("purchases"),
            f.sum("score").alias("total_score"),
            f.max("score").alias("best_score"),
        )
    )
