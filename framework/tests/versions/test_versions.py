"""The versions that a table keeps equal those of plain Python, in whatever batches and order records arrive.

`MILLSTREAM_VERSIONS=3000 uv run pytest -m long framework/tests/versions` tries 3,000 random sequences of records.
"""

from datetime import timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support.long import VERSIONED

from versions.history import at, cut, history, records, replaced, states
from versions.in_duckdb import InDuckDB

SHORT = 6
places = st.lists(st.integers(0, 1000), max_size=6)
keeps = st.none() | st.integers(1, 30)


def minutes(rows):
    """Return rows with their times in minutes."""

    def minute(time):
        return None if time is None else (time - at(0)) // timedelta(minutes=1)

    found = ((key, value, minute(begins), minute(ends)) for key, value, begins, ends in rows)
    return sorted(found, key=repr)


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


def in_any_batches(found, where, keep):
    table, seen = InDuckDB(keep), []
    for batch in cut(found, where):
        table.batch([(key, at(minute), value) for key, minute, value in batch])
        seen += batch
        assert minutes(table.rows.values()) == history(seen, keep)


def in_any_order(found, where, keep, order):
    once = list({(key, minute): (key, minute, value) for key, minute, value in found}.values())
    mixed, table = Random(order).sample(once, len(once)), InDuckDB(keep)
    for batch in cut(mixed, where):
        table.batch([(key, at(minute), value) for key, minute, value in batch])
    assert minutes(table.rows.values()) == history(once, keep)


def of_rows_that_replace_each_other(found, keep):
    table = InDuckDB(keep, replaces=True)
    for number, state in enumerate(found):
        table.batch([(key, at(time), value) for key, time, value in state], now=at(100 + number))
        assert minutes(table.rows.values()) == replaced(found[: number + 1], keep)
        assert newest(table) == {
            key: value for key, value in latest(found[: number + 1]) if value is not None
        }


def newest(table):
    return {key: value for key, value, _, ends in table.rows.values() if ends is None}


def latest(states_):
    return {key: value for state in states_ for key, _, value in state}.items()


test_random_records_in_random_batches = examples(SHORT, records(), places, keeps)(in_any_batches)
test_the_order_of_records_with_different_times_does_not_matter = examples(
    SHORT, records(), places, keeps, st.integers()
)(in_any_order)
test_versions_of_rows_that_replace_each_other = examples(SHORT, states(), keeps)(
    of_rows_that_replace_each_other
)
test_many_random_records = pytest.mark.long(examples(VERSIONED, records(), places, keeps)(in_any_batches))
test_many_orders = pytest.mark.long(
    examples(VERSIONED, records(), places, keeps, st.integers())(in_any_order)
)
test_many_rows_that_replace_each_other = pytest.mark.long(
    examples(VERSIONED, states(), keeps)(of_rows_that_replace_each_other)
)


def test_a_record_that_comes_late_ends_the_version_before_it():
    table = InDuckDB()
    table.batch([("a", at(0), 1), ("a", at(10), 3)])
    assert table.batch([("a", at(5), 2)]) == 2
    assert minutes(table.rows.values()) == [("a", 1, 0, 5), ("a", 2, 5, 10), ("a", 3, 10, None)]


def test_a_deletion_ends_a_version_also_if_that_comes_later():
    table = InDuckDB()
    table.batch([("a", at(5), None), ("b", at(0), 1)])
    assert minutes(table.rows.values()) == [("a", None, 5, 5), ("b", 1, 0, None)]
    table.batch([("a", at(0), 1), ("b", at(5), None)])
    assert minutes(table.rows.values()) == [("a", 1, 0, 5), ("b", 1, 0, 5)]


def test_the_newest_version_before_what_is_kept_is_kept():
    table = InDuckDB(10)
    table.batch([("a", at(0), 1), ("a", at(1), 2), ("b", at(5), 1)])
    assert table.batch([("b", at(20), 2)]) == 3
    assert minutes(table.rows.values()) == [("a", 2, 1, None), ("b", 1, 5, 20), ("b", 2, 20, None)]


def test_an_empty_version_goes_when_the_next_one_begins_before_what_is_kept():
    table = InDuckDB(10)
    table.batch([("a", at(5), None), ("a", at(12), 1), ("b", at(21), 1)])
    assert minutes(table.rows.values()) == [("a", 1, 12, None), ("a", None, 5, 5), ("b", 1, 21, None)]
    table.batch([("b", at(22), 2)])
    assert minutes(table.rows.values()) == [("a", 1, 12, None), ("b", 1, 21, 22), ("b", 2, 22, None)]


def test_a_row_without_a_time_is_valid_before_all_others():
    table = InDuckDB(10)
    table.batch([("a", None, 1), ("b", None, None)])
    assert minutes(table.rows.values()) == [("a", 1, None, None)]
    table.batch([("a", at(5), 2)])
    assert minutes(table.rows.values()) == [("a", 1, None, 5), ("a", 2, 5, None)]
    table.batch([("b", at(15), 2)])
    assert minutes(table.rows.values()) == [("a", 2, 5, None), ("b", 2, 15, None)]


def test_a_repeated_batch_changes_nothing():
    table, batch = InDuckDB(5), [("a", at(0), 1), ("a", at(9), None), ("b", at(3), 1), ("b", at(2), 0)]
    table.batch(batch)
    assert table.batch(batch) == 0
