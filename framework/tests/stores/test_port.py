"""What every store promises: see `millstream.stores.spark`."""

from datetime import timedelta

import pytest
from support.stored_tables import START, minute

from millstream.core.errors import MillstreamError
from millstream.stores.spark import TableBatch


@pytest.mark.parametrize("local", [False, True])
def test_a_row_replaces_the_one_of_its_key_unless_that_is_newer(keyed_store, local):
    keyed_store.local = local
    keyed_store.create(retention=None)
    keyed_store.batch(("a", minute(5), 1), ("b", minute(5), 1), ("c", minute(5), 1))
    keyed_store.batch(
        ("a", minute(6), 2), ("b", minute(4), 2), ("c", minute(6), 2, True), ("d", minute(0), 2)
    )
    assert keyed_store.read('"user", value') == [("a", 2), ("b", 1), ("d", 2)]


def test_a_batch_is_stored_once_and_another_writer_counts_for_itself(keyed_store):
    keyed_store.create(retention=None)
    keyed_store.batch(("a", minute(0), 1))
    keyed_store.batch(("a", minute(1), 2))
    keyed_store.batch(("a", minute(2), 3), number=1)
    assert keyed_store.read("value") == [(2,)]
    keyed_store.merge(
        keyed_store.table, [("a", minute(3), 4)], TableBatch("latest/2", 0, deletes=True, new=False)
    )
    assert keyed_store.read("value") == [(4,)]


@pytest.mark.parametrize("local", [False, True])
def test_rows_without_a_key_are_appended_once(store, local):
    store.local = local
    store.create(retention=None, order_by=None, keys=())
    store.batch(("a", minute(0), 1), ("a", minute(0), 1), (None, None, None))
    store.batch(("a", minute(0), 1), ("b", minute(1), 2))
    store.batch(("c", minute(2), 3), number=1)
    assert store.read("count(*), count(value), sum(value)") == [(5, 4, 5)]
    store.create(retention=None, order_by=None, keys=(), name="string")
    store.batch(("c", minute(2), 3, "Cid"), number=2)
    assert store.read("count(*), count(name)") == [(6, 1)]
    store.merge(
        store.table, [("d", minute(3), 4, "Dan")], TableBatch("latest/2", 0, deletes=False, new=False)
    )
    assert store.read("count(*), count(name)") == [(7, 2)]


@pytest.mark.parametrize(
    "time", ["timestamp", *(pytest.param(time, marks=pytest.mark.long) for time in ("timestamp_ntz", "date"))]
)
def test_the_rows_of_a_range_are_replaced_and_batches_go_on(store, time):
    store.create(retention=None, time=time, order_by=None, keys=())
    moments = [START + timedelta(days=day) for day in range(4)]
    days = [as_type(time, moment) for moment in moments]
    store.batch(("a", days[0], 1), ("b", days[1], 1), ("b", days[1], 1), ("c", days[2], 1), (None, None, 1))
    store.batch(("d", days[1], 1))
    for _ in range(2):  # as after a kill
        store.replace_range(moments[1], moments[2], ("b", days[1], 2), ("e", days[1], 2), ("e", days[1], 2))
    store.batch(("f", days[1], 1))
    store.batch(("d", days[1], 1), number=1)
    replaced = [("b", 2), ("e", 2), ("e", 2), ("f", 1)]
    assert store.read("""coalesce("user", ''), value""") == [
        ("", 1),
        ("a", 1),
        *replaced[:1],
        ("c", 1),
        *replaced[1:],
    ]
    store.replace_range(moments[0], moments[3])
    assert store.read("value") == [(1,)]


@pytest.mark.long
def test_a_range_gets_no_rows_that_are_too_old_or_deleted(store):
    store.create(keys=(), delete_by=("user",))
    store.batch(("a", minute(30), 1), ("b", minute(25), 1))
    store.batch(("b", minute(26), None, True))
    store.replace_range(
        minute(10), minute(31), ("a", minute(30), 2), ("b", minute(25), 2), ("c", minute(15), 2)
    )
    assert store.read('"user", value') == [("a", 2)]


def as_type(time, moment):
    return {"timestamp": moment, "timestamp_ntz": moment.replace(tzinfo=None), "date": moment.date()}[time]


def test_a_row_that_is_too_old_is_not_appended(store):
    store.create(keys=())
    store.batch(("a", minute(30), 1), ("b", minute(5), 1), ("c", minute(25), 1))
    store.batch(("d", minute(19), 1), ("e", minute(20), 1))
    assert store.users() == ["a", "c", "e"]


def test_columns_are_added_and_keep_their_types(store):
    store.create(retention=None)
    store.batch(("a", minute(0), 1))
    store.create(retention=None, name="string")
    store.batch(("b", minute(0), 2, "Bob"))
    assert store.read('"user", name') == [("a", None), ("b", "Bob")]
    with pytest.raises(MillstreamError, match="'name'"):
        store.create(retention=None, name="int")


def test_a_column_that_the_model_no_longer_has_is_not_read(store):
    store.create(retention=None, name="string", old="int")
    store.batch(("a", minute(0), 1, "Ann", 7))
    store.create(retention=None, name="string")
    store.batch(("b", minute(0), 2, "Bob"))
    assert store.read("*") == [("a", minute(0), 1, "Ann"), ("b", minute(0), 2, "Bob")]
    with pytest.raises(MillstreamError, match="old"):
        store.read("old")
    assert store.tables.rows(store.spark, store.table).columns == ["user", "at", "value", "name"]


@pytest.mark.long
def test_a_rebuilt_table_is_swapped_once_and_back(store):
    store.create(retention=None)
    assert not store.tables.has_rows(store.table)
    store.batch(("a", minute(0), 1), ("b", minute(0), 1))
    assert store.tables.has_rows(store.table)
    rebuilt, retained = store.other(".rebuilt"), store.other(".previous")
    new = store.tables.create(rebuilt, changes=False)
    store.merge(
        rebuilt, [("a", minute(0), 2), ("c", minute(0), 2)], TableBatch("r/1", 0, deletes=True, new=new)
    )
    store.tables.copy(store.table, retained)
    for _ in range(2):
        store.tables.swap(rebuilt, store.table, "one", changes=False)
        assert store.read('"user", value') == [("a", 2), ("c", 2)]
    store.tables.drop(rebuilt)
    store.tables.swap(retained, store.table, "other", changes=False)
    assert store.read('"user", value') == [("a", 1), ("b", 1)]
    store.tables.drop(store.table)
    assert not store.tables.has_rows(store.table)


def test_rows_for_spark_are_those_that_are_read_without_it(store):
    store.create(retention=None)
    store.batch(("a", minute(0), 1), (None, None, None))
    rows = {(row["user"], row["value"]) for row in store.tables.rows(store.spark, store.table).collect()}
    assert rows == {("a", 1), (None, None)}
