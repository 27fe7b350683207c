"""What the example stores, worked out in plain Python: a yardstick that shares no code with what it measures.

`expected` takes all records of the source topics and returns the rows of every sink topic and state table.
A lookup sees the last version of a reference topic, so this holds where those were read before the events.
Nothing is late: events come at most two seconds out of order, and the shortest watermark waits five.
"""

from __future__ import annotations

from collections.abc import Iterable

from example import models
from example.reading import SOURCES, bad, decoded, event_types, latest
from example.row_comparison import Record, Rows, appended, letters, newest, same

__all__ = ["as_rows", "expected", "same"]

EVENTS = frozenset(
    {
        "scored_storefront_events",
        "valid_partner_events",
        "enriched_partner_events",
        "scored_partner_events",
        "adjusted_device_events",
        "readable_device_events",
        "categorized_app_events",
    }
)
"""The outputs whose rows are added; those of the others replace an older row of their key."""


def expected(records: dict[str, list[Record]]) -> dict[str, Rows]:
    """Return the rows of each output from all records of the topics, each topic's in the order of its keys."""
    decoded_rows = {name: decoded(name, records.get(name, [])) for name in SOURCES}
    products, profiles = (latest(records.get(name, [])) for name in ("products", "user_profiles"))

    interesting = models.stg_storefront_events(decoded_rows["storefront_events"])
    counts = models.user_activity_totals(decoded_rows["account_activity"])
    filtered = models.valid_partner_events(decoded_rows["partner_events"])
    enriched = models.enriched_partner_events(filtered)
    scored = models.stg_device_events(decoded_rows["device_events"], event_types())
    optimized = models.adjusted_device_events(scored)
    categorized = models.categorized_app_events(decoded_rows["app_events"])
    hours = models.hourly_user_activity(categorized)
    enriched_hours = models.hourly_user_interests(hours, products)
    hits = models.stg_page_hits(decoded_rows["page_hits"])
    outputs = {
        "scored_storefront_events": ("user_id", models.scored_storefront_events(interesting)),
        "user_activity_updates": ("user_id", models.user_activity_updates(counts)),
        "active_users": ("user_id", models.active_users(counts)),
        "valid_partner_events": ("event_id", filtered),
        "enriched_partner_events": ("event_id", enriched),
        "scored_partner_events": ("event_id", models.scored_partner_events(enriched)),
        "adjusted_device_events": ("user_id", optimized),
        "readable_device_events": ("user_id", models.readable_device_events(optimized)),
        "categorized_app_events": ("user_id", categorized),
        "hourly_user_activity": ("metrics_key", hours),
        "hourly_user_interests": ("metrics_key", enriched_hours),
        "hourly_user_metrics": ("metrics_key", models.hourly_user_metrics(enriched_hours, profiles)),
        "region_hit_counts": ("region", models.region_hit_counts(hits)),
        "region_hit_counts_5s": ("window_key", models.region_hit_counts_5s(hits)),
    }
    rows = {
        name: as_rows(name, [(row[key], row) for row in output_rows])
        for name, (key, output_rows) in outputs.items()
    }
    return rows | {
        f"{name}.dead_letter": as_rows(f"{name}.dead_letter", bad(records.get(name, [])))
        for name, source in SOURCES.items()
        if source.on_bad_record == "dead_letter"
    }


def as_rows(output: str, records: Iterable[Record]) -> Rows:
    """Return an output's records, or a table's keys and rows, in the form in which they are compared."""
    if output.endswith(".dead_letter"):
        return letters(records)
    return appended(records) if output in EVENTS else newest(records)
