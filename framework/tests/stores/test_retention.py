"""Rows of tables that get too old, in every store."""

from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.stored_tables import START, minute

from millstream.plan.durations import parse_duration


@pytest.fixture
def store(keyed_store):
    return keyed_store


@pytest.mark.long
def test_rows_that_are_older_than_the_newest_minus_the_retention_go(store):
    store.create()
    store.batch(("a", minute(0), 1), ("b", minute(5), 1))
    assert store.users() == ["a", "b"]
    store.batch(("c", minute(10), 1))
    assert store.users() == ["a", "b", "c"]
    store.batch(("d", minute(11), 1))
    assert store.users() == ["b", "c", "d"]


def test_a_late_row_that_is_too_old_is_not_stored(store):
    store.create()
    store.batch(("a", minute(0), 1), ("b", minute(20), 1))
    store.batch(("a", minute(9), 1), ("c", minute(10), 1))
    assert store.users() == ["b", "c"]


def test_a_key_that_comes_again_lives_on(store):
    store.create()
    store.batch(("a", minute(0), 1), ("b", minute(1), 1))
    store.batch(("a", minute(12), 2))
    assert store.users() == ["a"]


@pytest.mark.long
def test_the_time_of_a_row_that_was_deleted_counts(store):
    store.create()
    store.batch(("a", minute(0), 1), ("b", minute(20), 1))
    store.batch(("b", minute(21), 1, True))
    store.batch(("c", minute(5), 1))
    assert store.users() == []


@pytest.mark.long
def test_a_row_without_a_time_is_the_oldest(store):
    store.create()
    store.batch(("a", None, 1))
    assert store.users() == ["a"]
    store.batch(("b", minute(0), 1))
    store.batch(("c", None, 1))
    assert store.users() == ["b"]


@pytest.mark.long
def test_a_batch_that_is_tried_again_changes_nothing(store):
    store.create()
    store.batch(("a", minute(0), 1))
    store.batch(("b", minute(11), 1))
    store.batch(("c", minute(99), 1), number=1)
    assert store.users() == ["b"]


@pytest.mark.long
def test_a_retention_that_a_table_gets_later_begins_with_its_newest_row(store):
    store.create(retention=None)
    store.batch(("a", minute(0), 1), ("b", minute(20), 1))
    store.create()
    store.batch(("c", minute(5), 1))
    assert store.users() == ["b"]


@pytest.mark.long
def test_a_table_that_is_made_anew_has_no_newest_time(store):
    store.create()
    store.batch(("a", minute(99), 1))
    store.tables.drop(store.table)
    store.create()
    store.batch(("b", minute(0), 1))
    assert store.users() == ["b"]


@pytest.mark.parametrize(
    ("time", "values"),
    [
        ("date", [date(2026, 1, 1), date(2025, 12, 31), date(2026, 1, 31)]),
        (
            "timestamp_ntz",
            [START.replace(tzinfo=None, month=m, day=d, hour=1) for m, d in ((1, 1), (1, 2), (2, 1))],
        ),
    ],
)
def test_dates_and_times_without_a_zone(store, time, values):
    store.create(retention="30 days 12 hours", time=time)
    first, second, last = values
    store.batch(("a", first - timedelta(days=2), 1), ("b", second, 1))
    store.batch(("c", last, 1))
    assert store.users() == ["b", "c"]


def test_a_duration_has_months_and_a_time():
    assert parse_duration("1 month 12 hours") == (1, 43_200_000_000)
    assert parse_duration("1.5 years") == (18, 0)
    assert parse_duration("0.5 months 1.5 seconds") == (0, 15 * 86_400_000_000 + 1_500_000)


EVENTS = st.lists(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 40)), min_size=1, max_size=4
    ),
    min_size=1,
    max_size=4,
)  # fmt: skip


def expected(events):
    """Return each user's newest row, where it is not older than ten minutes before the newest of all."""
    times = {}
    for user, minutes in events:
        times[user] = max(times.get(user, -1), -1 if minutes is None else minutes)
    newest_of_all = max(times.values())
    return sorted(
        user
        for user, minutes in times.items()
        if newest_of_all < 0 or (minutes >= 0 and minutes >= newest_of_all - 10)
    )


@pytest.mark.long
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(EVENTS)
def test_how_rows_are_cut_into_batches_does_not_matter(store, batches):
    if store.number >= 0:
        store.tables.drop(store.table)
        store.number = -1
    store.create()
    for batch in batches:
        store.batch(*((user, minute(minutes), 1) for user, minutes in batch))
    assert store.users() == expected([event for batch in batches for event in batch])
