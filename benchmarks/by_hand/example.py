"""The example project by hand: each model that stores something is a query, which reads the topics of others.

What several models build on without storing it is a function here, worked out again in each query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from by_hand import schemas
from by_hand.kafka import Query, QueryContext, query_context, read, sink, with_time
from by_hand.scores import calculate_complex_score, calculate_score
from by_hand.tables import keep_reference, keep_state, table

SEEDS = Path(__file__).parents[2] / "seeds"
ACTIVITY_TYPES = ("login", "page_view", "click", "purchase", "logout")
USER_EVENT_TYPES = ("view", "click", "purchase", "search")


def queries(
    spark: SparkSession,
    bootstrap: str,
    checkpoints: Any,
    prefix: str = "",
    producer: Mapping[str, str] | None = None,
) -> list[Query]:
    """Return the queries in an order in which each finds what it reads; tables are below the checkpoints."""
    context = query_context(spark, bootstrap, checkpoints, prefix, producer)

    def reference(name: str, schema: str, key: str) -> Query:
        return Query(name, lambda: keep_reference(context, name, schema, key))

    def state(rows: Callable[[QueryContext], DataFrame], key: str) -> Query:
        return Query(rows.__name__, lambda: keep_state(context, rows(context), rows.__name__, key))

    return [
        reference("products", schemas.PRODUCTS, "product_id"),
        reference("user_profiles", schemas.USER_PROFILES, "user_id"),
        sink(context, scored_storefront_events, "user_id"),
        sink(context, user_activity_updates, "user_id", "update"),
        state(active_users, "user_id"),
        sink(context, valid_partner_events, "event_id"),
        sink(context, enriched_partner_events, "event_id", reads=("valid_partner_events",)),
        sink(context, scored_partner_events, "event_id", reads=("enriched_partner_events",)),
        sink(context, adjusted_device_events, "user_id"),
        sink(context, readable_device_events, "user_id", reads=("adjusted_device_events",)),
        sink(context, categorized_app_events, "user_id"),
        sink(context, hourly_user_activity, "metrics_key", "update", reads=("categorized_app_events",)),
        sink(context, hourly_user_interests, "metrics_key", reads=("hourly_user_activity", "products")),
        sink(context, hourly_user_metrics, "metrics_key", reads=("hourly_user_interests", "user_profiles")),
        sink(context, region_hit_counts, "region", "update"),
        sink(context, region_hit_counts_5s, "window_key", "update"),
    ]


def ratio(numerator: str, denominator: str, digits: int) -> Column:
    divided = f.round(f.col(numerator) / f.col(denominator), digits)
    return f.when(f.col(denominator) > 0, divided)


def window_key(key: str) -> Column:
    return f.concat(f.col(key), f.lit("@"), f.unix_millis("window.start"))


def counts_by(column: str, values: tuple[str, ...]) -> list[Column]:
    return [f.count_if(f.col(column) == value).alias(f"{value}_count") for value in values]


def scored_storefront_events(context: QueryContext) -> DataFrame:
    events = read(context, "storefront_events", schemas.STOREFRONT_EVENTS)
    return events.where("type not in ('scroll', 'hover')").select(
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


def user_activity_totals(context: QueryContext) -> DataFrame:
    activity = with_time(read(context, "account_activity", schemas.ACCOUNT_ACTIVITY, "user_id"))
    last = f.struct(f.col("activity_type").alias("type"), "score", "duration_ms", "timestamp")
    counts = (
        activity.where("activity_type is not null")
        .groupBy("user_id")
        .agg(
            f.count("*").alias("total_count"),
            *counts_by("activity_type", ACTIVITY_TYPES),
            f.sum(f.coalesce("score", f.lit(0))).alias("total_score"),
            f.max_by(last, "event_time").alias("last_activity"),
            f.max("event_time").alias("last_active_at"),
        )
    )
    return counts.withColumn("avg_score", ratio("total_score", "total_count", 2))


def user_activity_updates(context: QueryContext) -> DataFrame:
    counts = [f"{name}_count" for name in ("total", *ACTIVITY_TYPES)]
    metrics = f.struct(*counts, "total_score", "avg_score").alias("metrics")
    return user_activity_totals(context).select("user_id", metrics, "last_activity")


def active_users(context: QueryContext) -> DataFrame:
    return user_activity_totals(context)


def valid_partner_events(context: QueryContext) -> DataFrame:
    events = with_time(read(context, "partner_events", schemas.PARTNER_EVENTS, "event_id"))
    return events.where("is_valid and startswith(event_type, 'valid') and priority <> 'spam'").drop(
        "is_valid"
    )


def enriched_partner_events(context: QueryContext) -> DataFrame:
    return read(context, f"{context.prefix}valid_partner_events", schemas.VALID_PARTNER_EVENTS).select(
        "event_id",
        f.lit("ENRICHED").alias("status"),
        "event_type",
        "priority",
        f.coalesce("score", f.lit(0)).alias("score"),
        "timestamp",
        f.coalesce("batch_id", f.lit(0)).alias("batch_id"),
        f.coalesce("source", f.lit("unknown")).alias("source"),
    )


def scored_partner_events(context: QueryContext) -> DataFrame:
    complex_score = calculate_complex_score("event_type", "priority", "score")
    return read(context, f"{context.prefix}enriched_partner_events", schemas.ENRICHED_PARTNER_EVENTS).select(
        "event_id",
        f.lit("PROCESSED").alias("status"),
        "event_type",
        "priority",
        f.struct(f.col("score").alias("base_score"), complex_score.alias("complex_score")).alias("scores"),
        "timestamp",
        "batch_id",
        "source",
        f.lit("final").alias("processing_stage"),
    )


def adjusted_device_events(context: QueryContext) -> DataFrame:
    events = read(context, "device_events", schemas.DEVICE_EVENTS).where("score >= 10")
    types = context.spark.read.csv(
        str(SEEDS / "event_types.csv"), schema="event_type_id bigint, event_type string", header=True
    )
    purchase = f.coalesce("event_type", f.lit("unknown")) == "purchase"
    more = f.expr("cast(value * 1.1 as bigint)")
    return events.join(f.broadcast(types), "event_type_id", "left").select(
        "user_id",
        f.struct(
            f.coalesce("event_type", f.lit("unknown")).alias("type"),
            "user_id",
            f.when(purchase, more).otherwise(f.col("value")).alias("value"),
            f.when(purchase, f.least(f.col("score") + 20, f.lit(100)))
            .otherwise(f.col("score"))
            .alias("score"),
            "timestamp",
        ).alias("processed_event"),
        "metadata",
        f.struct(f.lit(True).alias("optimized"), f.lit("v2").alias("version")).alias("processing_info"),
    )


def readable_device_events(context: QueryContext) -> DataFrame:
    events = read(context, f"{context.prefix}adjusted_device_events", schemas.ADJUSTED_DEVICE_EVENTS)
    words = {"EVENT": "type", "USER": "user_id", "VALUE": "value", "SCORE": "score"}
    parts = [f.concat(f.lit(f"{word}:"), f"processed_event.{name}") for word, name in words.items()]
    return events.select(
        "user_id",
        f.concat_ws(" ", *parts).alias("summary"),
        f.struct(
            f.col("processed_event.type").alias("event_type"),
            *(f"processed_event.{name}" for name in ("user_id", "value", "score", "timestamp")),
        ).alias("details"),
        "metadata",
        "processing_info",
    )


def categorized_app_events(context: QueryContext) -> DataFrame:
    events = with_time(read(context, "app_events", schemas.APP_EVENTS, "user_id"))
    engages = f.col("event_type").isin("view", "click")
    return events.where(f.col("event_type").isin(*USER_EVENT_TYPES)).select(
        "event_id",
        "user_id",
        "event_type",
        f.when(engages, "engagement").otherwise("conversion").alias("category"),
        "product_id",
        f.coalesce("value", f.lit(0.0)).alias("value"),
        "timestamp",
        "event_time",
    )


def hourly_user_activity(context: QueryContext) -> DataFrame:
    events = read(context, f"{context.prefix}categorized_app_events", schemas.CATEGORIZED_APP_EVENTS)
    return (
        events.withWatermark("event_time", "10 minutes")
        .groupBy(f.window("event_time", "1 hour"), "user_id")
        .agg(
            f.count("*").alias("event_count"),
            *counts_by("event_type", USER_EVENT_TYPES),
            f.round(f.sum("value"), 2).alias("total_value"),
            f.sort_array(f.collect_set("product_id")).alias("product_ids"),
            f.max("event_time").alias("last_updated"),
        )
        .select(
            window_key("user_id").alias("metrics_key"),
            f.col("window.start").alias("window_start"),
            f.col("window.end").alias("window_end"),
            "user_id",
            "event_count",
            *(f"{event_type}_count" for event_type in USER_EVENT_TYPES),
            "total_value",
            "product_ids",
            f.size("product_ids").alias("unique_products"),
            "last_updated",
        )
    )


def hourly_user_interests(context: QueryContext) -> DataFrame:
    """Look categories up in a map: a join and a count by category would need state, or mix up the order."""
    metrics = read(context, f"{context.prefix}hourly_user_activity", schemas.HOURLY_USER_ACTIVITY)
    with_map = context.spark.sql(
        "select *, (select map_from_entries(collect_list(struct(product_id, category))) from {products})"
        " as category_of from {metrics}",
        products=table(context, "products"),
        metrics=metrics,
    )
    return (
        with_map.withColumn(
            "categories",
            f.expr("filter(transform(slice(product_ids, 1, 5), p -> category_of[p]), c -> c is not null)"),
        )
        .withColumn(
            "counted",
            f.expr(
                "array_sort(transform(array_distinct(categories), c -> "
                "struct(-size(filter(categories, other -> other = c)) as n, c as category)))"
            ),
        )
        .withColumn(
            "top_categories",
            f.expr("slice(transform(counted, e -> struct(e.category as category, -e.n as products)), 1, 3)"),
        )
        .drop("category_of", "categories", "counted")
    )


def hourly_user_metrics(context: QueryContext) -> DataFrame:
    metrics = read(context, f"{context.prefix}hourly_user_interests", schemas.HOURLY_USER_INTERESTS)
    profiles = table(context, "user_profiles").select("user_id", "segment", "account_age_days")
    return metrics.join(f.broadcast(profiles), "user_id", "left").select(
        "metrics_key",
        "user_id",
        "window_start",
        "window_end",
        "event_count",
        *(f"{event_type}_count" for event_type in USER_EVENT_TYPES),
        "total_value",
        "unique_products",
        "top_categories",
        ratio("click_count", "view_count", 4).alias("click_through_rate"),
        ratio("purchase_count", "click_count", 4).alias("conversion_rate"),
        f.coalesce("segment", f.lit("unknown")).alias("user_segment"),
        "account_age_days",
        "last_updated",
    )


def stg_page_hits(context: QueryContext) -> DataFrame:
    hits = with_time(read(context, "page_hits", schemas.PAGE_HITS, "visitor_key"))
    identified = hits.where("visitor_key is not null and timestamp is not null")
    return identified.select(f.substring("visitor_key", 1, 5).alias("region"), "event_time")


def region_hit_counts(context: QueryContext) -> DataFrame:
    return stg_page_hits(context).groupBy("region").agg(f.count("*").alias("hit_count"))


def region_hit_counts_5s(context: QueryContext) -> DataFrame:
    return (
        stg_page_hits(context)
        .withWatermark("event_time", "5 seconds")
        .groupBy(f.window("event_time", "5 seconds"), "region")
        .agg(f.count("*").alias("hit_count"))
        .select(
            window_key("region").alias("window_key"),
            f.col("window.start").alias("window_start"),
            f.col("window.end").alias("window_end"),
            "region",
            "hit_count",
        )
    )
