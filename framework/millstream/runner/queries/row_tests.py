"""What data tests find wrong in batches that are stored output by output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame

from millstream.physical.checks import WRONG_ROW, count_name
from millstream.physical.values import DeadLetters, Delivery
from millstream.runner.queries.counts import counts
from millstream.runner.queries.results import Counts


class WrongRowError(Exception):
    """A row is not what a data test demands."""


class Tested:
    """Counts by number of a batch: those of one that is tried again count once."""

    def __init__(self) -> None:
        self._found: dict[int, Mapping[str, int]] = {}

    def note(self, number: int, found: Mapping[str, int]) -> None:
        self._found[number] = found

    def take(self, number: int) -> Counts:
        """Return those of a batch that has ended, and forget them."""
        return counts([self._found.pop(number, {})])

    def all(self) -> Counts:
        return counts(list(self._found.values()))


def ask(batch: DataFrame, deliveries: Iterable[Delivery]) -> dict[str, int]:
    """Ask all tests of a batch, before anything of it is stored."""
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
