"""A running query, watched until it ends."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.streaming.query import StreamingQuery

_OFTEN = 0.25
"""Seconds between looks at what a query has done; its end is told at once."""


def watch(query: StreamingQuery, going: Callable[[int], None]) -> tuple[int, int]:
    """Wait for a query's end, telling how many rows it has read; return rows and batches."""
    while not query.awaitTermination(_OFTEN):  # type: ignore[arg-type]  # fractions are taken, too
        going(_rows(query)[0])
    return _rows(query)


def _rows(query: StreamingQuery) -> tuple[int, int]:
    progress = query.recentProgress
    return sum(each.numInputRows for each in progress), len(progress)
