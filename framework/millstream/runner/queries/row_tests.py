"""Row checks in batches that are stored output by output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame

from millstream.physical.checks import WRONG_ROW, count_name
from millstream.physical.values import DeadLetters, Delivery
from millstream.runner.queries.counts import counts
from millstream.runner.queries.results import Counts


class WrongRowError(Exception):
    """A row fails a data test with severity `error`."""


class TestCounts:
    """Counts of failing rows by the number of their batch, so that a repeated batch counts once."""

    def __init__(self) -> None:
        self._by_batch: dict[int, Mapping[str, int]] = {}

    def add(self, number: int, found: Mapping[str, int]) -> None:
        self._by_batch[number] = found

    def take(self, number: int) -> Counts:
        """Return and remove the counts of a completed batch."""
        return counts([self._by_batch.pop(number, {})])

    def all(self) -> Counts:
        return counts(list(self._by_batch.values()))


def run_row_checks(batch: DataFrame, deliveries: Iterable[Delivery]) -> dict[str, int]:
    """Run all row checks of a batch, before any of it is stored."""
    found: dict[str, int] = {}
    for each in deliveries:
        if not each.counts_sql:
            continue
        (row,) = batch.sparkSession.sql(each.counts_sql).collect()
        numbers: dict[str, int] = row.asDict()
        assert not isinstance(each.target, DeadLetters)
        model = each.target.model.partition(".")[2]
        for test in each.stops:
            if number := numbers.pop(count_name("tests", test)):
                name = test.partition(".")[2]
                rows = "1 row" if number == 1 else f"{number:,} rows"
                raise WrongRowError(f"{WRONG_ROW}model {model}, test {name}, {rows} of a batch")
        found |= numbers
    return found
