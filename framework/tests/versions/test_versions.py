"""The versions that a table keeps equal those of plain Python, in whatever batches and order records arrive."""

from random import Random

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from versions.history import at, cut, history, records, valid
from versions.in_duckdb import InDuckDB

random_records = settings(
    max_examples=60, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
places = st.lists(st.integers(0, 1000), max_size=6)
keeps = st.none() | st.integers(1, 30)


def stored(table):
    def minute(time):
        return None if time is None else int((time - at(0)).total_seconds() // 60)

    return sorted(
        ((key, value, minute(begins), minute(ends)) for key, value, begins, ends in table.rows.values()), key=repr
    )


def batches(table, found, where):
    for batch in cut(found, where):
        table.batch([(key, at(minute), value) for key, minute, value in batch])


@random_records
@seed(0)
@given(records(), places, keeps)
def test_random_records_in_random_batches(found, where, keep):
    table = InDuckDB(keep)
    seen = []
    for batch in cut(found, where):
        table.batch([(key, at(minute), value) for key, minute, value in batch])
        seen += batch
        assert stored(table) == history(seen, keep)


@random_records
@seed(1)
@given(records(), places, keeps, st.integers())
def test_the_order_of_records_with_different_times_does_not_matter(found, where, keep, order):
    once = list({(key, minute): (key, minute, value) for key, minute, value in found}.values())
    mixed = Random(order).sample(once, len(once))
    table = InDuckDB(keep)
    batches(table, mixed, where)
    assert stored(table) == history(once, keep)
