"""What the example stores, worked out in plain Python: a yardstick that shares no code with what it measures.

`expected` takes all records of the source topics and returns the rows of every sink topic and state table.
A lookup sees the last version of a reference topic, so this holds where those were read before the events.
Nothing is late: events come at most two seconds out of order, and the shortest watermark waits five.
"""

from __future__ import annotations

from collections.abc import Iterable

from example import models
from example.compared import Record, Rows, appended, letters, newest, same
from example.reading import SOURCES, bad, decoded, event_types, latest

__all__ = ["as_rows", "expected", "same"]

EVENTS = frozenset(
    {
        "processed_events",
        "filtered_events",
        "enriched_events",
        "final_processed_events",
        "optimized_events",
        "readable_events",
        "categorized_events",
    }
)
"""The outputs whose rows are added; those of the others replace an older row of their key."""


def expected(records: dict[str, list[Record]]) -> dict[str, Rows]:
    """Return the rows of each output from all records of the topics, each topic's in the order of its keys."""
    found = {name: decoded(name, records.get(name, [])) for name in SOURCES}
    products, profiles = (latest(records.get(name, [])) for name in ("product_data", "user_profiles"))

    interesting = models.interesting_events(found["high_volume_events"])
    counts = models.user_activity_counts(found["user_activity"])
    filtered = models.filtered_events(found["mixed_quality_events"])
    enriched = models.enriched_events(filtered)
    scored = models.scored_binary_events(found["binary_events"], event_types())
    optimized = models.optimized_events(scored)
    categorized = models.categorized_events(found["user_events"])
    hours = models.user_activity_metrics(categorized)
    enriched_hours = models.enriched_metrics(hours, products)
    hits = models.hits_by_region(found["page_hits"])
    outputs = {
        "processed_events": ("user_id", models.processed_events(interesting)),
        "user_metrics_summary": ("user_id", models.user_metrics_summary(counts)),
        "user_activity_state": ("user_id", models.user_activity_state(counts)),
        "filtered_events": ("event_id", filtered),
        "enriched_events": ("event_id", enriched),
        "final_processed_events": ("event_id", models.final_processed_events(enriched)),
        "optimized_events": ("user_id", optimized),
        "readable_events": ("user_id", models.readable_events(optimized)),
        "categorized_events": ("user_id", categorized),
        "user_activity_metrics": ("metrics_key", hours),
        "enriched_metrics": ("metrics_key", enriched_hours),
        "user_metrics": ("metrics_key", models.user_metrics(enriched_hours, profiles)),
        "region_hit_counts": ("region", models.region_hit_counts(hits)),
        "region_hit_counts_5s": ("window_key", models.region_hit_counts_5s(hits)),
    }
    rows = {name: as_rows(name, [(row[key], row) for row in made]) for name, (key, made) in outputs.items()}
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
