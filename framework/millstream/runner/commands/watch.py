"""Watches a running query until it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from typing import NamedTuple

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from millstream.core.node_id import NodeId
from millstream.engine.queries.counts import Observed, observe_counts, sum_counts
from millstream.engine.queries.query_results import RecordCounts
from millstream.engine.queries.spark_progress import records_of_topics, state_of
from millstream.results.state_sizes import RestoredState, last_restored

_INTERVAL = 0.25
"""Seconds between two checks of a query's progress; its end is noticed immediately."""


class _Rows(NamedTuple):
    """Rows of the state of one operator in one batch."""

    expired: int
    late: int
    duplicates: int


class CompletedBatches:
    """What the completed batches of a query have read, and left out.

    `relations` has the relation of each topic. Spark drops the oldest batches of a long query, so they are
    collected while it runs.
    """

    def __init__(self, relations: Mapping[str, NodeId]) -> None:
        self._relations = relations
        self._rows: dict[int, int] = {}
        self._reads: dict[int, dict[str, int]] = {}
        self._observed: Observed = {}
        self._states: dict[int, list[_Rows]] = {}
        self.restored: tuple[RestoredState | None, ...] = ()
        """How the state of each operator was loaded."""

    def add(self, batches: Iterable[StreamingQueryProgress]) -> None:
        for batch in batches:
            self._rows[batch.batchId] = batch.numInputRows
            self._reads[batch.batchId] = records_of_topics(batch)
            self._observed |= observe_counts([batch])
            states = [state_of(state) for state in batch.stateOperators]
            self._states[batch.batchId] = [
                _Rows(state.expired, state.late, state.duplicates) for state in states
            ]
            self.restored = last_restored(self.restored, states)

    @property
    def rows(self) -> int:
        return sum(self._rows.values())

    @property
    def expired(self) -> tuple[int, ...]:
        """How many rows of each state expired, by Spark's order of stateful operators."""
        return self._total(lambda rows: rows.expired)

    @property
    def late(self) -> tuple[int, ...]:
        """How many rows came too late for each state, in the same order."""
        return self._total(lambda rows: rows.late)

    @property
    def duplicates(self) -> tuple[int, ...]:
        """How many rows each state dropped as duplicates, in the same order."""
        return self._total(lambda rows: rows.duplicates)

    def _total(self, number: Callable[[_Rows], int]) -> tuple[int, ...]:
        batches = [map(number, states) for states in self._states.values()]
        return tuple(map(sum, zip_longest(*batches, fillvalue=0)))

    @property
    def counts(self) -> RecordCounts:
        return sum_counts(self._observed.values())

    @property
    def reads(self) -> dict[NodeId, int]:
        """How many records of each source or model were read."""
        records = dict.fromkeys(self._relations.values(), 0)
        for batch in self._reads.values():
            for topic in batch.keys() & self._relations.keys():
                records[self._relations[topic]] += batch[topic]
        return records


def watch_query(query: StreamingQuery, seen: CompletedBatches, report: Callable[[int], None]) -> None:
    """Wait for a query's end, and report how many rows it has read."""
    try:
        while not query.awaitTermination(_INTERVAL):  # type: ignore[arg-type]  # fractions are allowed
            seen.add(query.recentProgress)
            report(seen.rows)
    finally:
        seen.add(query.recentProgress)
        report(seen.rows)
