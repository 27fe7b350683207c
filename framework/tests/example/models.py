"""Each model of the example in plain Python, over lists of rows; `None` is NULL."""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from example.generated import ROOT
from example.spark_values import count_if, half_up, max_by, ratio, total, window, window_key, without_nulls

Row = dict[str, Any]

IGNORED_EVENT_TYPES = ("scroll", "hover")
ACTIVITY_TYPES = ("login", "page_view", "click", "purchase", "logout")
USER_EVENT_TYPES = ("view", "click", "purchase", "search")
ENGAGEMENT_TYPES = ("view", "click")
MINIMUM_SCORE = 10
TOP_PRODUCTS = 5
TOP_CATEGORIES = 3

_SCORES = runpy.run_path(str(ROOT / "macros/scores.py"))


def grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return rows by the values of these columns; NULL is a value like any other."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def windowed(rows: Iterable[Row], length: timedelta) -> list[Row]:
    """Return rows with their window; one without an event time is in none."""
    windowed_rows = []
    for row in rows:
        if row["event_time"] is not None:
            start, end = window(row["event_time"], length)
            windowed_rows.append(row | {"window_start": start, "window_end": end})
    return windowed_rows


def picked(row: Row, names: str) -> Row:
    return {name: row[name] for name in names.split()}


def otherwise(value: Any, default: Any) -> Any:
    return default if value is None else value


# recommendations


def stg_storefront_events(events: list[Row]) -> list[Row]:
    return [
        picked(event, "event_id user_id product_id category value timestamp metadata event_time")
        | {"event_type": event["type"]}
        for event in events
        if event["type"] is not None and event["type"] not in IGNORED_EVENT_TYPES
    ]


def scored_storefront_events(events: list[Row]) -> list[Row]:
    return [
        picked(event, "event_type user_id product_id category timestamp metadata")
        | {
            "status": "PROCESSED",
            "score": _SCORES["calculate_score"](event["event_type"], event["category"], event["value"]),
            "value": half_up(event["value"], 2),
        }
        for event in events
    ]


# users


def user_activity_totals(activities: list[Row]) -> list[Row]:
    of_known_type = [row for row in activities if row["activity_type"] is not None]
    return [
        {
            "user_id": user,
            "total_count": len(rows),
            **{f"{type_}_count": sum(r["activity_type"] == type_ for r in rows) for type_ in ACTIVITY_TYPES},
            "total_score": sum(otherwise(row["score"], 0) for row in rows),
            "last_activity": max_by(
                (
                    {"type": row["activity_type"]} | picked(row, "score duration_ms timestamp"),
                    row["event_time"],
                )
                for row in rows
            ),
            "last_active_at": max(without_nulls(row["event_time"] for row in rows), default=None),
        }
        for (user,), rows in grouped(of_known_type, "user_id").items()
    ]


def average_score(counts: Row) -> float | None:
    return ratio(counts["total_score"], counts["total_count"], 2)


def user_activity_updates(counts: list[Row]) -> list[Row]:
    totals = " ".join(f"{type_}_count" for type_ in ACTIVITY_TYPES) + " total_count total_score"
    return [
        picked(row, "user_id last_activity")
        | {"metrics": picked(row, totals) | {"avg_score": average_score(row)}}
        for row in counts
    ]


def active_users(counts: list[Row]) -> list[Row]:
    return [row | {"avg_score": average_score(row)} for row in counts]


# partners


def valid_partner_events(events: list[Row]) -> list[Row]:
    return [
        picked(event, "event_id event_type priority score timestamp batch_id source event_time")
        for event in events
        if event["is_valid"] is True
        and otherwise(event["event_type"], "").startswith("valid")
        and otherwise(event["priority"], "spam") != "spam"
    ]


def enriched_partner_events(events: list[Row]) -> list[Row]:
    return [
        picked(event, "event_id event_type priority timestamp")
        | {
            "status": "ENRICHED",
            "score": otherwise(event["score"], 0),
            "batch_id": otherwise(event["batch_id"], 0),
            "source": otherwise(event["source"], "unknown"),
        }
        for event in events
    ]


def scored_partner_events(events: list[Row]) -> list[Row]:
    return [
        picked(event, "event_id event_type priority timestamp batch_id source")
        | {
            "status": "PROCESSED",
            "scores": {
                "base_score": event["score"],
                "complex_score": _SCORES["calculate_complex_score"](
                    event["event_type"], event["priority"], event["score"]
                ),
            },
            "processing_stage": "final",
        }
        for event in events
    ]


# devices


def stg_device_events(events: list[Row], types: dict[int, str]) -> list[Row]:
    return [
        picked(event, "user_id value score timestamp metadata")
        | {"event_type": types.get(event["event_type_id"], "unknown")}
        for event in events
        if event["score"] is not None and event["score"] >= MINIMUM_SCORE
    ]


def adjusted_device_events(events: list[Row]) -> list[Row]:
    adjusted = []
    for event in events:
        value, score = event["value"], event["score"]
        if event["event_type"] == "purchase":
            # 1.1 is an exact decimal, and the cast cuts towards zero.
            value = None if value is None else abs(value) * 11 // 10 * (1 if value > 0 else -1)
            score = min(score + 20, 100)
        processed = {"type": event["event_type"], "value": value, "score": score}
        adjusted.append(
            picked(event, "user_id metadata")
            | {
                "processed_event": processed | picked(event, "user_id timestamp"),
                "processing_info": {"optimized": True, "version": "v2"},
            }
        )
    return adjusted


def readable_device_events(events: list[Row]) -> list[Row]:
    readable = []
    for event in events:
        details = event["processed_event"]
        words = ("EVENT", "type"), ("USER", "user_id"), ("VALUE", "value"), ("SCORE", "score")
        readable.append(
            picked(event, "user_id metadata processing_info")
            | {
                "summary": " ".join(
                    f"{word}:{details[name]}" for word, name in words if details[name] is not None
                ),
                "details": {"event_type": details["type"]} | picked(details, "user_id value score timestamp"),
            }
        )
    return readable


# engagement


def categorized_app_events(events: list[Row]) -> list[Row]:
    return [
        picked(event, "event_id user_id event_type product_id timestamp event_time")
        | {
            "category": "engagement" if event["event_type"] in ENGAGEMENT_TYPES else "conversion",
            "value": otherwise(event["value"], 0.0),
        }
        for event in events
        if event["event_type"] in USER_EVENT_TYPES
    ]


def hourly_user_activity(events: list[Row]) -> list[Row]:
    activity = []
    hours = windowed(events, timedelta(hours=1))
    for (start, end, user), rows in grouped(hours, "window_start", "window_end", "user_id").items():
        products = sorted(set(without_nulls(row["product_id"] for row in rows)))
        activity.append(
            {
                "metrics_key": window_key(user, start),
                "window_start": start,
                "window_end": end,
                "user_id": user,
                "event_count": len(rows),
                **{f"{t}_count": count_if(row["event_type"] == t for row in rows) for t in USER_EVENT_TYPES},
                "total_value": half_up(total(row["value"] for row in rows), 2),
                "product_ids": products,
                "unique_products": len(products),
                "last_updated": max(row["event_time"] for row in rows),
            }
        )
    return activity


def hourly_user_interests(metrics: list[Row], products: dict[str, Row]) -> list[Row]:
    interests = []
    for row in metrics:
        first = row["product_ids"][:TOP_PRODUCTS]
        categories = Counter(without_nulls(products.get(product, {}).get("category") for product in first))
        ordered = sorted(categories.items(), key=lambda item: (-item[1], item[0]))
        top = [{"category": category, "products": number} for category, number in ordered[:TOP_CATEGORIES]]
        interests.append(row | {"top_categories": top})
    return interests


def hourly_user_metrics(metrics: list[Row], profiles: dict[str, Row]) -> list[Row]:
    columns = (
        "metrics_key user_id window_start window_end event_count view_count click_count purchase_count "
        "search_count total_value unique_products top_categories last_updated"
    )
    enriched = []
    for row in metrics:
        profile = profiles.get(row["user_id"], {})
        enriched.append(
            picked(row, columns)
            | {
                "click_through_rate": ratio(row["click_count"], row["view_count"], 4),
                "conversion_rate": ratio(row["purchase_count"], row["click_count"], 4),
                "user_segment": otherwise(profile.get("segment"), "unknown"),
                "account_age_days": profile.get("account_age_days"),
            }
        )
    return enriched


# traffic


def stg_page_hits(hits: list[Row]) -> list[Row]:
    return [
        {"region": hit["visitor_key"][:5], "event_time": hit["event_time"]}
        for hit in hits
        if hit["visitor_key"] is not None
    ]


def region_hit_counts(hits: list[Row]) -> list[Row]:
    counts = grouped(hits, "region").items()
    return [{"region": name, "hit_count": len(rows)} for (name,), rows in counts]


def region_hit_counts_5s(hits: list[Row]) -> list[Row]:
    windows = grouped(windowed(hits, timedelta(seconds=5)), "window_start", "window_end", "region")
    return [
        {
            "window_key": window_key(region_name, start),
            "window_start": start,
            "window_end": end,
            "region": region_name,
            "hit_count": len(rows),
        }
        for (start, end, region_name), rows in windows.items()
    ]
