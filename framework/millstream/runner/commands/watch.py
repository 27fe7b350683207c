"""A running query, watched until it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql.streaming.query import StreamingQuery

from millstream.runner.queries.batches import TOPIC
from millstream.runner.queries.counts import Observed, counts, observed
from millstream.runner.queries.results import Counts

_OFTEN = 0.25
"""Seconds between looks at what a query has done; its end is told at once."""


def watch(query: StreamingQuery, going: Callable[[int], None]) -> tuple[int, int, Counts]:
    """Wait for a query's end, telling how many rows it read; return rows, batches, what it left out."""
    seen: Observed = {}
    while True:
        ended = query.awaitTermination(_OFTEN)  # type: ignore[arg-type]  # fractions are taken, too
        progress = query.recentProgress
        seen |= observed(progress)
        rows = sum(each.numInputRows for each in progress)
        going(rows)
        if ended:
            return rows, len(progress), counts(seen.values())


_KEPT = 100
"""Batches whose progress Spark keeps at least (spark.sql.streaming.numRecentProgressUpdates)."""


def read_of(query: StreamingQuery, relations: Mapping[str, str]) -> dict[str, int]:
    """Return how many records a query has read, by relation; nothing where Spark forgot its first batches.

    `relations` has the relation of each topic. One that stands in a query several times is told by each.
    """
    progress = query.recentProgress
    if len(progress) >= _KEPT:
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
