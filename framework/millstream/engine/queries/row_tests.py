"""Row checks in batches that are stored output by output, and what else such batches count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from msgspec import Struct
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import LongType

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.engine.queries.counts import (
    Logs,
    Metrics,
    count_reasons,
    logs_of,
    logs_together,
    metrics_of,
    metrics_together,
    numbers_of,
    sum_counts,
)
from millstream.engine.queries.query_results import RecordCounts
from millstream.queries.checks import ROW, TEST, WRONG_ROW_REMEDY, count_name
from millstream.queries.values import OutputDelivery
from millstream.results.run_results import TableChanges

_MOST_SHOWN = 3
"""Failing rows that an error shows."""
_KEPT_REMEDY = (
    "fix the rows that it is computed from, or change the test; severity drop or dead_letter keeps such rows "
    "out of the table for as long as the test has it"
)
"""For tables over tables: a row that is kept out once is computed again."""


CHANGES = "changes"
"""Before the id of a table over tables, in the name of what it did."""


class BatchCounts(Struct, frozen=True):
    """What a batch has counted."""

    counts: RecordCounts
    metrics: Metrics
    logs: Logs
    changes: dict[str, TableChanges]
    """Of tables over tables."""
    reasons: dict[str, int]
    """Of dead letters."""


class CountsByBatch:
    """What batches have counted, by their numbers, so that a repeated batch counts once."""

    def __init__(self) -> None:
        self._by_batch: dict[int, Mapping[str, Any]] = {}

    def add(self, number: int, counted: Mapping[str, Any]) -> None:
        self._by_batch[number] = counted

    def add_up(self, number: int, more: Mapping[str, int]) -> None:
        """Add numbers to what a batch has counted."""
        before = self._by_batch.get(number, {})
        self.add(number, {**before, **{name: before.get(name, 0) + count for name, count in more.items()}})

    def observe(self, number: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add what several observations of the same records have found."""
        together = {name: value for row in rows for name, value in row.items()}
        self.add(number, together | numbers_of(rows))

    def take(self, number: int) -> BatchCounts:
        """Return and remove what a completed batch has counted, and what was stored before the first one."""
        batches = [
            self._by_batch.pop(batch_number)
            for batch_number in sorted(self._by_batch)
            if batch_number <= number
        ]
        return BatchCounts(
            sum_counts(map(_only_counts, batches)),
            reduce(metrics_together, (metrics_of([batch]) for batch in batches), {}),
            reduce(logs_together, (logs_of([batch]) for batch in batches), {}),
            _changes_of(batches),
            count_reasons(batches),
        )

    def merged(self) -> dict[str, Any]:
        """Return what all batches have counted, if these are different things."""
        return {name: value for batch in self._by_batch.values() for name, value in batch.items()}

    def all(self) -> RecordCounts:
        return sum_counts(map(_only_counts, self._by_batch.values()))

    def changes(self) -> TableChanges:
        """Return what tables over tables did in all batches."""
        return sum(_changes_of(self._by_batch.values()).values(), TableChanges())


def _changes_of(batches: Iterable[Mapping[str, Any]]) -> dict[str, TableChanges]:
    prefix, changes = f"{CHANGES} model.", dict[str, TableChanges]()
    for batch in batches:
        for name, change in batch.items():
            if name.startswith(prefix):
                model = name.removeprefix(prefix)
                changes[model] = changes.get(model, TableChanges()) + change
    return changes


def _only_counts(counted: Mapping[str, Any]) -> Mapping[str, int]:
    return numbers_of([{name: n for name, n in counted.items() if not name.startswith(f"{CHANGES} ")}])


def run_row_checks(
    batch: DataFrame,
    deliveries: Iterable[OutputDelivery],
    positions: str = "",
    *,
    is_maintained: bool = False,
) -> dict[str, Any]:
    """Run all row checks of a batch, before any of it is stored, and observe them.

    `places` says which records the batch reads, `is_maintained` whether the table stays equal to its SQL.
    """
    observed: dict[str, Any] = {}
    checked = [delivery for delivery in deliveries if delivery.counts_sql]
    frames = [batch.sparkSession.sql(delivery.counts_sql) for delivery in checked]
    for delivery, numbers in zip(checked, _counted(frames), strict=True):
        for test in delivery.stops:
            if number := numbers.pop(count_name("tests", test)):
                raise MillstreamError(
                    _failed(batch, delivery, test, number, positions, is_maintained=is_maintained)
                )
        observed |= numbers
    return observed


def _failed(
    batch: DataFrame,
    delivery: OutputDelivery,
    test: NodeId,
    number: int,
    positions: str,
    *,
    is_maintained: bool,
) -> Diagnostic:
    """Return which rows fail a test, and how to go on."""
    model, name = delivery.title, test.name
    rows = batch.sparkSession.sql(delivery.stops_sql).where(f.col(TEST) == str(test))
    shown = sorted(row[ROW] for row in rows.limit(_MOST_SHOWN).collect())
    more = f"; and {number - len(shown):,} more" if number > len(shown) else ""
    start = "a row fails" if number == 1 else f"{number:,} rows fail"
    among = f"; the batch reads {positions}" if positions else ""
    message = f"{start} a data test: model {model}, test {name}: {'; '.join(shown)}{more}{among}"
    return Diagnostic("MS863", message, None, _KEPT_REMEDY if is_maintained else WRONG_ROW_REMEDY)


def _counted(frames: Sequence[DataFrame]) -> Iterator[dict[str, Any]]:
    """Yield the only row of each, by column; those of numbers alone come from one query, planned once."""
    plain = {
        n for n, frame in enumerate(frames) if {field.dataType for field in frame.schema} == {LongType()}
    }
    together: dict[int, list[int]] = {}
    if len(plain) > 1:
        rows = (
            frames[n].select(f.lit(n), f.array(*map(quote_name, frames[n].columns))) for n in sorted(plain)
        )
        together = dict(map(tuple, reduce(DataFrame.unionAll, rows).collect()))
    for n, frame in enumerate(frames):
        if n in together:
            yield dict(zip(frame.columns, together[n], strict=True))
        else:
            (row,) = frame.collect()
            yield row.asDict()
