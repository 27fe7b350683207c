"""In every store: versions of rows, of which each batch is stored once."""

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support.stored import minute
from versions.history import cut, history, records

from millstream.physical.values import TableOutput, Versions
from millstream.plan.nodes import Column
from millstream.stores.spark import Batch
from millstream.types import parse_type

COLUMNS = {
    "user": "string",
    "at": "timestamp",
    "value": "bigint",
    "valid_from": "timestamp",
    "valid_to": "timestamp",
}
KEYS = ("user", "valid_from")


class Versioned:
    """A table that keeps versions for ten minutes."""

    def __init__(self, store, name="latest"):
        columns = tuple(Column(name, parse_type(kind)) for name, kind in COLUMNS.items())
        self.store = store
        store.table = TableOutput(f"model.{name}", KEYS, columns, versions=Versions(("user",), "10 minutes"))
        self.new = store.tables.create(store.table, changes=False)

    def batch(self, number, rows):
        batch = Batch("latest/1", number, deletes=True, new=self.new and not number)
        given = [(key, minute(at), value, minute(at), None, value is None) for key, at, value in rows]
        self.store.merge(self.store.table, given, batch)

    def rows(self):
        def number(time):
            return None if time is None else round((time - minute(0)).total_seconds() / 60)

        found = self.store.tables.rows(self.store.spark, self.store.table)
        rows = found.selectExpr("user", "value", "unix_micros(valid_from)", "unix_micros(valid_to)").collect()
        start = round(minute(0).timestamp() * 1_000_000)
        times = lambda each: None if each is None else (each - start) // 60_000_000  # noqa: E731
        return sorted(
            ((key, value, times(begins), times(ends)) for key, value, begins, ends in rows), key=repr
        )


BATCHES = [
    [("a", 0, 1), ("a", 5, 2), ("b", 3, None)],
    [("a", 2, 3), ("b", 1, 1), ("a", 5, 4)],
    [("a", 14, None), ("c", 9, 1)],
    [("a", 11, 5), ("c", 30, None), ("b", 2, 2)],
]


def test_versions_are_kept_and_a_batch_is_stored_once(store):
    versioned, seen = Versioned(store), []
    for number, rows in enumerate(BATCHES):
        seen += rows
        for _ in range(2):  # as after an interruption
            versioned.batch(number, rows)
            assert versioned.rows() == history(seen, 10)


@pytest.mark.long
def test_random_versions(store):
    count = iter(range(1000))

    @seed(0)
    @settings(
        max_examples=5,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(records(), st.lists(st.integers(0, 1000), max_size=4))
    def check(found, where):
        versioned, seen = Versioned(store, f"latest{next(count)}"), []
        for number, rows in enumerate(cut(found, where)):
            seen += rows
            versioned.batch(number, rows)
            assert versioned.rows() == history(seen, 10)

    check()
