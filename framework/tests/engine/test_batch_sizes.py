"""How many records the batches of a query read, on machines whose speed is known here and not to the query."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.deploy.live.latency_limit import FIRST, GROWTH, LEAST, BatchSizer, ObservedBatch, shared_out


def catch_up(pace, latency, backlog, seconds_of, batches=60):
    """Return the sizes and seconds of the batches that read a backlog."""
    measured = []
    while backlog and len(measured) < batches:
        records = min(backlog, pace.limit(latency))
        measured.append((records, seconds_of(records, len(measured))))
        pace.add(ObservedBatch(*measured[-1]))
        backlog -= records
    return measured


@settings(max_examples=50)
@given(
    fixed=st.floats(0.05, 4),
    rate=st.floats(2_000, 2_000_000),
    latency=st.floats(10, 120),
    seed=st.integers(0, 10_000),
)
def test_batches_take_half_of_the_time_once_several_have_been_measured(fixed, rate, latency, seed):
    random = Random(seed)
    noise = lambda: random.uniform(0.9, 1.1)  # noqa: E731
    measured = catch_up(
        BatchSizer(),
        latency,
        10**12,
        lambda n, index: (fixed + n / rate) * noise() * (5 if index == 0 else 1),
    )
    later = [seconds for _, seconds in measured[20:]]
    # Half of a batch's time is for its records, however long planning takes.
    limit = max(latency / 2, 2 * fixed)
    assert max(later) < limit * 1.5
    # Not much less either, or the fixed part would be paid more often than necessary.
    assert sum(later) / len(later) > limit * 0.6


def test_a_batch_grows_only_to_a_multiple_of_what_has_been_measured():
    measured = catch_up(BatchSizer(), 60, 10**9, lambda n, _: n / 1e9, batches=8)
    sizes = [n for n, _ in measured]
    assert sizes[0] == FIRST
    assert all(b <= GROWTH * a for a, b in pairwise(sizes))
    assert sizes[-1] > 100 * FIRST


def test_batches_that_take_too_long_for_any_size_do_not_become_tiny():
    # Planning alone takes longer than the time that is asked for.
    measured = catch_up(BatchSizer(), 2, 10**9, lambda n, _: 3 + n / 10_000)
    assert min(n for n, _ in measured[10:]) > 20_000  # half of their time is for records


def test_small_batches_before_a_burst_do_not_hold_it_up():
    pace = BatchSizer()
    for _ in range(20):
        pace.add(ObservedBatch(50, 0.4))
    measured = catch_up(pace, 10, 10**9, lambda n, _: 0.4 + n / 50_000, batches=6)
    assert measured[1][0] == FIRST
    assert measured[4][0] > 15 * FIRST


def test_a_slow_function_gets_few_records():
    measured = catch_up(BatchSizer(), 2, 10**6, lambda n, _: n * 0.01, batches=10)
    assert [n for n, _ in measured[2:]] == [LEAST] * 8


def test_time_that_other_queries_take_is_left_to_them():
    alone, sharing = BatchSizer(), BatchSizer()
    for n in (10_000, 20_000, 40_000):
        alone.add(ObservedBatch(n, n / 10_000))
        sharing.add(ObservedBatch(n, n / 10_000, waited=6))
    assert (alone.limit(20), sharing.limit(20)) == (
        100_000,
        70_000,
    )  # 10 s of 20, and 7 of the 14 that are left


def test_empty_batches_say_nothing():
    pace = BatchSizer()
    pace.add(ObservedBatch(0, 9))
    assert pace.limit(10) == FIRST


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ({}, {}),
        ({"a": 0}, {"a": 1000}),
        ({"a": 5}, {"a": 1000}),
        ({"a": 0, "b": 0}, {"a": 1000, "b": 1000}),
        ({"a": 100, "b": 300}, {"a": 250, "b": 750}),
        ({"a": 10_000, "b": 0}, {"a": 1000, "b": 250}),
    ],
)
def test_topics_share_a_limit_by_what_they_have_to_read(behind, expected):
    assert shared_out(1000, behind) == expected
