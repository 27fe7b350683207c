"""Watches a running query until it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql.streaming.query import StreamingQuery

from millstream.runner.queries.batches import TOPIC
from millstream.runner.queries.counts import Observed, counts, observed
from millstream.runner.queries.results import Counts

_INTERVAL = 0.25
"""Seconds between two checks of a query's progress; its end is noticed immediately."""


def watch(query: StreamingQuery, report: Callable[[int], None]) -> tuple[int, Counts]:
    """Wait for a query's end, reporting how many rows it read; return rows, and rows left out."""
    seen: Observed = {}
    while True:
        ended = query.awaitTermination(_INTERVAL)  # type: ignore[arg-type]  # fractions are allowed
        progress = query.recentProgress
        seen |= observed(progress)
        rows = sum(each.numInputRows for each in progress)
        report(rows)
        if ended:
            return rows, counts(seen.values())


_RETAINED = 100
"""Batches whose progress Spark retains at least (spark.sql.streaming.numRecentProgressUpdates)."""


def read_of(query: StreamingQuery, relations: Mapping[str, str]) -> dict[str, int]:
    """Return how many records a query has read, by relation; empty if Spark dropped its first batches.

    `relations` has the relation of each topic. If a query reads a topic several times, Spark lists each read.
    """
    progress = query.recentProgress
    if len(progress) >= _RETAINED:
        return {}
    found = dict.fromkeys(relations.values(), 0)
    for batch in progress:
        counts: dict[str, int] = {}
        for source in batch.sources:
            if (named := TOPIC.search(source.description)) and named[1] in relations:
                counts[named[1]] = max(counts.get(named[1], 0), source.numInputRows)
        for topic, count in counts.items():
            found[relations[topic]] += count
    return found
