"""Rows of append-only tables that are deleted on request, in every store."""

import random
from contextlib import suppress

import pytest
from msgspec.structs import replace
from support.stored_tables import minute

from millstream.engine.queries.deletions import requests_of
from millstream.stores.spark import TableBatch

BATCH = TableBatch("latest/1", 0, deletes=True, new=False)


@pytest.fixture
def events(keyed_store):
    """Return a table of a store, whose rows are deleted by user."""
    keyed_store.create(retention=None, keys=(), delete_by=("user",))
    return keyed_store


def rows(store):
    return store.read('"user", value')


@pytest.mark.parametrize("local", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_request_deletes_what_came_before_it_and_stays_in_force(events, local):
    events.local = local
    events.batch(("a", minute(1), 1), ("a", minute(1), 1), ("b", minute(1), 2), ("a", None, 3))
    events.batch(("a", minute(5), 4), ("a", minute(5), None, True), ("a", minute(6), 5), ("c", minute(2), 6))
    assert rows(events) == [("a", 5), ("b", 2), ("c", 6)]
    events.batch(("a", minute(5), 7), ("a", minute(7), 8), ("b", minute(9), 9), ("a", None, 10))
    assert rows(events) == [("a", 5), ("a", 8), ("b", 2), ("b", 9), ("c", 6)]
    events.batch(("c", minute(1), None, True), ("b", minute(9), None, True), ("b", minute(3), None, True))
    events.batch(("a", minute(9), 11), number=2)
    assert rows(events) == [("a", 5), ("a", 8), ("c", 6)]


def test_nobody_is_a_customer_whose_rows_can_be_deleted(events):
    events.batch((None, minute(1), 1), ("a", minute(1), 2))
    events.batch((None, minute(5), None, True), ("b", None, None, True))
    events.batch((None, minute(2), 3), ("b", minute(1), 4))
    assert events.read("value") == [(1,), (2,), (3,), (4,)]


def test_a_batch_that_was_killed_after_its_requests_were_stored_is_repeated(events, monkeypatch):
    """The requests are stored before the rows: the repeated batch finds them."""
    events.batch(("a", minute(1), 1), ("b", minute(1), 2))
    tables, table = type(events.tables.of(events.table.model)), events.table
    stored = tables.merge

    def killed(self, rows, output, batch):
        if output.model == table.model:
            raise KeyboardInterrupt
        stored(self, rows, output, batch)

    with monkeypatch.context() as during, suppress(KeyboardInterrupt):
        during.setattr(tables, "merge", killed)
        events.batch(("a", minute(5), None, True), ("c", minute(5), 3))
    assert rows(events) == [("a", 1), ("b", 2)]
    events.batch(("a", minute(5), None, True), ("c", minute(5), 3), number=1)
    events.batch(("a", minute(4), 4))
    assert rows(events) == [("b", 2), ("c", 3)]


@pytest.mark.long
def test_requests_go_with_the_rows_that_retention_removes(keyed_store):
    store = keyed_store
    store.create(keys=(), delete_by=("user",))
    store.batch(("a", minute(1), 1), ("b", minute(1), 2))
    store.batch(("a", minute(5), None, True))
    store.batch(("b", minute(14), None, True), ("a", minute(4), 3), ("c", minute(14), 4))
    store.batch(("c", minute(30), None, True))
    requests = store.tables.rows(store.spark, requests_of(store.table))
    assert [row["user"] for row in requests.collect()] == ["c"]
    store.batch(("a", minute(4), 5), ("a", minute(21), 6))
    assert rows(store) == [("a", 6)]


@pytest.mark.long
def test_requests_are_swapped_copied_and_dropped_with_their_table(events):
    events.batch(("a", minute(1), 1), ("b", minute(1), 2))
    events.batch(("a", minute(5), None, True))
    rebuilt, retained = events.other(".rebuilt"), events.other(".previous")
    events.tables.copy(replace(events.table, options={}), retained)
    events.tables.create(rebuilt, changes=False)
    events.merge(rebuilt, [("b", minute(5), None, True)], replace(BATCH, writer="latest/2"))
    events.tables.swap(rebuilt, events.table, "1", changes=False)
    events.merge(events.table, [("a", minute(4), 3), ("b", minute(4), 4)], replace(BATCH, writer="latest/3"))
    assert rows(events) == [("a", 3)]
    events.tables.drop(events.table)
    events.tables.copy(replace(retained, options={}), replace(events.table, options={}))
    events.merge(events.table, [("a", minute(4), 5)], replace(BATCH, writer="latest/4"))
    assert rows(events) == [("b", 2)]
    events.tables.drop(replace(events.table, keys=(), columns=(), options={}))
    assert not events.tables.exists(requests_of(events.table).model)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_how_rows_and_requests_are_cut_into_batches_does_not_matter(events, seed):
    dice = random.Random(seed)
    sent = [
        (dice.choice("abcd"), minute(dice.choice([None, *range(20)])), number, dice.random() < 0.2)
        for number in range(40)
    ]
    left = list(sent)
    while left:
        size = dice.randint(1, 12)
        events.local = dice.random() < 0.5
        events.batch(*left[:size])
        left = left[size:]
    assert rows(events) == sorted((user, value) for user, _, value, _ in expected(sent))


def expected(sent):
    """Return the rows that no request deletes, in plain Python; a row without a time is the oldest."""
    requests = {}
    for user, time, _, request in sent:
        if request and time is not None:
            requests[user] = max(time, requests.get(user, time))
    untimed = {user for user, time, _, request in sent if request and time is None}
    for row in sent:
        user, time, _, request = row
        if request:
            continue
        if time is None:
            deleted = user in requests or user in untimed
        else:
            deleted = user in requests and time <= requests[user]
        if not deleted:
            yield row
