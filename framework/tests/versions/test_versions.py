"""The versions that a table keeps equal those of plain Python, in whatever batches and order records arrive.

`MILLSTREAM_VERSIONS=3000 uv run pytest -m long framework/tests/versions` tries 3,000 random sequences of records.
"""

from datetime import timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support.long import VERSIONED

from versions.history import cut, history, records, replaced, states, timestamp
from versions.in_duckdb import InDuckDB

SHORT = 6
positions = st.lists(st.integers(0, 1000), max_size=6)
keeps = st.none() | st.integers(1, 30)


def minutes(rows):
    """Return rows with their times in minutes."""

    def minute(time):
        return None if time is None else (time - timestamp(0)) // timedelta(minutes=1)

    versions = ((key, value, minute(begins), minute(ends)) for key, value, begins, ends in rows)
    return sorted(versions, key=repr)


def examples(count, *strategies):
    """Return a decorator that runs a test with so many random examples, the same ones each time."""

    def decorated(test):
        quick = settings(
            max_examples=count,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        return seed(0)(quick(given(*strategies)(test)))

    return decorated


def in_any_batches(changes, where, keep):
    table, seen = InDuckDB(keep), []
    for batch in cut(changes, where):
        table.batch([(key, timestamp(minute), value) for key, minute, value in batch])
        seen += batch
        assert minutes(table.rows.values()) == history(seen, keep)


def in_any_order(changes, where, keep, order):
    once = list({(key, minute): (key, minute, value) for key, minute, value in changes}.values())
    mixed, table = Random(order).sample(once, len(once)), InDuckDB(keep)
    for batch in cut(mixed, where):
        table.batch([(key, timestamp(minute), value) for key, minute, value in batch])
    assert minutes(table.rows.values()) == history(once, keep)


def of_rows_that_replace_each_other(batches, keep):
    table = InDuckDB(keep, replaces=True)
    for number, state in enumerate(batches):
        table.batch(
            [(key, timestamp(time), value) for key, time, value in state], now=timestamp(100 + number)
        )
        assert minutes(table.rows.values()) == replaced(batches[: number + 1], keep)
        assert newest(table) == {
            key: value for key, value in latest(batches[: number + 1]) if value is not None
        }


def newest(table):
    return {key: value for key, value, _, ends in table.rows.values() if ends is None}


def latest(states_):
    return {key: value for state in states_ for key, _, value in state}.items()


test_random_records_in_random_batches = examples(SHORT, records(), positions, keeps)(in_any_batches)
test_the_order_of_records_with_different_times_does_not_matter = examples(
    SHORT, records(), positions, keeps, st.integers()
)(in_any_order)
test_versions_of_rows_that_replace_each_other = examples(SHORT, states(), keeps)(
    of_rows_that_replace_each_other
)
test_many_random_records = pytest.mark.long(examples(VERSIONED, records(), positions, keeps)(in_any_batches))
test_many_orders = pytest.mark.long(
    examples(VERSIONED, records(), positions, keeps, st.integers())(in_any_order)
)
test_many_rows_that_replace_each_other = pytest.mark.long(
    examples(VERSIONED, states(), keeps)(of_rows_that_replace_each_other)
)


def test_a_record_that_comes_late_ends_the_version_before_it():
    table = InDuckDB()
    table.batch([("a", timestamp(0), 1), ("a", timestamp(10), 3)])
    assert table.batch([("a", timestamp(5), 2)]) == 2
    assert minutes(table.rows.values()) == [("a", 1, 0, 5), ("a", 2, 5, 10), ("a", 3, 10, None)]


def test_a_deletion_ends_a_version_also_if_that_comes_later():
    table = InDuckDB()
    table.batch([("a", timestamp(5), None), ("b", timestamp(0), 1)])
    assert minutes(table.rows.values()) == [("a", None, 5, 5), ("b", 1, 0, None)]
    table.batch([("a", timestamp(0), 1), ("b", timestamp(5), None)])
    assert minutes(table.rows.values()) == [("a", 1, 0, 5), ("b", 1, 0, 5)]


def test_the_newest_version_before_what_is_kept_is_kept():
    table = InDuckDB(10)
    table.batch([("a", timestamp(0), 1), ("a", timestamp(1), 2), ("b", timestamp(5), 1)])
    assert table.batch([("b", timestamp(20), 2)]) == 3
    assert minutes(table.rows.values()) == [("a", 2, 1, None), ("b", 1, 5, 20), ("b", 2, 20, None)]


def test_an_empty_version_goes_when_the_next_one_begins_before_what_is_kept():
    table = InDuckDB(10)
    table.batch([("a", timestamp(5), None), ("a", timestamp(12), 1), ("b", timestamp(21), 1)])
    assert minutes(table.rows.values()) == [("a", 1, 12, None), ("a", None, 5, 5), ("b", 1, 21, None)]
    table.batch([("b", timestamp(22), 2)])
    assert minutes(table.rows.values()) == [("a", 1, 12, None), ("b", 1, 21, 22), ("b", 2, 22, None)]


def test_a_row_without_a_time_is_valid_before_all_others():
    table = InDuckDB(10)
    table.batch([("a", None, 1), ("b", None, None)])
    assert minutes(table.rows.values()) == [("a", 1, None, None)]
    table.batch([("a", timestamp(5), 2)])
    assert minutes(table.rows.values()) == [("a", 1, None, 5), ("a", 2, 5, None)]
    table.batch([("b", timestamp(15), 2)])
    assert minutes(table.rows.values()) == [("a", 2, 5, None), ("b", 2, 15, None)]


def test_a_repeated_batch_changes_nothing():
    table, batch = (
        InDuckDB(5),
        [("a", timestamp(0), 1), ("a", timestamp(9), None), ("b", timestamp(3), 1), ("b", timestamp(2), 0)],
    )
    table.batch(batch)
    assert table.batch(batch) == 0
