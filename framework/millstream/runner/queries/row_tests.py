"""Row checks in batches that are stored output by output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from millstream.physical.checks import WRONG_ROW, count_name
from millstream.physical.measures import METRICS
from millstream.physical.row_logs import LOGS
from millstream.physical.values import DeadLetters, Delivery
from millstream.runner.queries.counts import Logs, Metrics, counts, logs_of, metrics_of
from millstream.runner.queries.results import Counts


class WrongRowError(Exception):
    """A row fails a data test with severity `error`."""


class TestCounts:
    """Counts of failing rows by the number of their batch, so that a repeated batch counts once."""

    def __init__(self) -> None:
        self._by_batch: dict[int, Mapping[str, Any]] = {}

    def add(self, number: int, found: Mapping[str, Any]) -> None:
        self._by_batch[number] = found

    def take(self, number: int) -> tuple[Counts, Metrics, Logs]:
        """Return and remove the counts, metrics and logged rows of a completed batch."""
        found = self._by_batch.pop(number, {})
        return counts([_only_counts(found)]), metrics_of([found]), logs_of([found])

    def all(self) -> Counts:
        return counts(map(_only_counts, self._by_batch.values()))


def _only_counts(found: Mapping[str, Any]) -> Mapping[str, int]:
    return {
        name: number for name, number in found.items() if not name.startswith((f"{METRICS} ", f"{LOGS} "))
    }


def run_row_checks(batch: DataFrame, deliveries: Iterable[Delivery]) -> dict[str, Any]:
    """Run all row checks of a batch, before any of it is stored, and observe them."""
    found: dict[str, Any] = {}
    for each in deliveries:
        if not each.counts_sql:
            continue
        (row,) = batch.sparkSession.sql(each.counts_sql).collect()
        numbers: dict[str, Any] = row.asDict()
        assert not isinstance(each.target, DeadLetters)
        model = each.target.model.partition(".")[2]
        for test in each.stops:
            if number := numbers.pop(count_name("tests", test)):
                name = test.partition(".")[2]
                rows = "1 row" if number == 1 else f"{number:,} rows"
                raise WrongRowError(f"{WRONG_ROW}model {model}, test {name}, {rows} of a batch")
        found |= numbers
    return found
