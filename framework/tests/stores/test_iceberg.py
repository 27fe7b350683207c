"""Tables in Iceberg, as its own library for Python and DuckDB read them, with no code of Millstream."""

import time
from decimal import Decimal

import duckdb
import pytest
from support.iceberg_events import NAME, NOON, NULLS, ROW, TYPES, Events
from support.spark import SPARK_WARNINGS

from millstream.stores.file_sizes import EVERY
from millstream.stores.iceberg.spark.address import InFolder
from millstream.stores.iceberg.spark.files import write_files

pytestmark = SPARK_WARNINGS


@pytest.mark.parametrize("partitions", [(), ("day", "text"), ("at", "clock", "price", "flag", "small")])
def test_pyiceberg_duckdb_and_spark_read_what_was_appended(spark, tmp_path, partitions):
    events = Events(spark, tmp_path, partition_by=list(partitions))
    blank, odd = (3, 0, "", *ROW[3:]), (4, -1, "a/b=%20é'{}*", *ROW[3:])
    events.batch(0, ROW, NULLS, blank, odd)
    first, nulls, empty, special = events.read()
    assert (first["text"], first["at"], first["clock"]) == ("a", NOON, NOON.replace(tzinfo=None))
    assert (first["price"], first["raw"], first["small"]) == (Decimal("1.50"), b"\x00\xff", 7)
    assert first["place"] == {"city": "Rome", "tags": ["x", None]}
    assert first["counts"] == [("k", 2)]
    assert set(list(nulls.values())[1:]) == {None}
    assert (empty["text"], special["text"]) == ("", "a/b=%20é'{}*")
    assert [row["id"] for row in events.read("text = 'a' and day = '2026-01-01'")] == [1]
    assert [row["id"] for row in events.read("text is null and at is null")] == [2]
    assert [row["id"] for row in events.read("text = ''")] == [3]
    batches = events.static().scan().to_arrow_batch_reader()
    connection = duckdb.connect()
    connection.register("batches", batches)
    assert connection.sql("select count(*), sum(price), max(place.city) from batches").fetchall() == [
        (4, Decimal("4.50"), "Rome")
    ]
    rows = events.tables.rows(spark, NAME, events.table.columns).orderBy("id")
    assert dict(rows.dtypes) == TYPES
    assert [tuple(row) for row in rows.select("id", "small", "text").collect()] == [
        (1, 7, "a"), (2, None, None), (3, 0, ""), (4, -1, "a/b=%20é'{}*"),
    ]  # fmt: skip
    assert events.query("select id, place, counts from events where id < 3 order by id") == [
        (1, {"city": "Rome", "tags": ["x", None]}, {"k": 2}), (2, None, None),
    ]  # fmt: skip


def test_a_folder_may_have_any_name(spark, tmp_path):
    root = tmp_path / "a [b] {c}, %20é"
    events = Events(spark, root, keys=("id",))
    events.batch(0, ROW, NULLS)
    events.batch(1, (1, 8, *ROW[2:]))
    assert sorted(events.query("select id, small from events"), key=str) == [(1, 8), (2, None)]


def test_partitions_and_order_can_change_with_the_next_batch(spark, tmp_path):
    events = Events(spark, tmp_path)
    events.batch(0, ROW)
    events.create(partition_by=["day"])
    events.batch(1, NULLS)
    events.create(partition_by=["text"])
    events.batch(2, (3, *ROW[1:]))
    events.create(cluster_by=["id"])
    events.batch(3, (4, *ROW[1:]))
    assert [row["id"] for row in events.read()] == [1, 2, 3, 4]
    assert [field.name for field in events.static().spec().fields if str(field.transform) == "identity"] == []
    assert [field.source_id for field in events.static().sort_order().fields] == [1]


def test_files_of_an_attempt_without_a_commit_are_replaced(spark, tmp_path, monkeypatch):
    events = Events(spark, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("millstream.stores.iceberg.spark.merge.commit_files", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            events.batch(0, ROW)
    assert len(events.data_files()) == 1
    events.batch(0, ROW)
    events.batch(0, NULLS)
    assert len(events.data_files()) == 1
    assert [row["id"] for row in events.read()] == [1]


def test_a_snapshot_says_which_batch_it_is(spark, tmp_path):
    events = Events(spark, tmp_path)
    events.batch(7, ROW)
    summary = events.static().current_snapshot().summary
    assert (summary["millstream.writer"], summary["millstream.batch"]) == ("w", "7")


@pytest.mark.long
@pytest.mark.parametrize("layout", [{}, {"partition_by": ["day"]}, {"cluster_by": ["id"]}])
def test_small_files_are_combined_and_old_snapshots_go(spark, tmp_path, layout):
    events = Events(spark, tmp_path, "1 second", **layout)
    for number in range(25):
        events.batch(number, (number, *ROW[1:]))
    time.sleep(1)
    before = len(events.data_files())
    events.batch(EVERY, (99, *ROW[1:]))
    assert before == 25
    assert [row["id"] for row in events.read()] == [*range(25), 99]
    assert len(events.static().inspect.files()) == 1
    time.sleep(1.1)
    events.batch(2 * EVERY, (100, *ROW[1:]))
    assert len(events.data_files()) <= 3
    assert len(events.static().metadata.snapshots) <= 3
    assert len(events.read()) == 27
    events.batch(2 * EVERY, (101, *ROW[1:]))
    assert len(events.read()) == 27


def test_a_batch_that_is_repeated_after_files_were_combined_keeps_them(spark, tmp_path):
    """As after `kill -9` before Spark noted the batch; if it is killed again, the table consists of them."""
    events = Events(spark, tmp_path, types={"id": "bigint", "day": "bigint"}, partition_by=["day"])
    events.batch(0, *((number, number % 21) for number in range(42)))
    for _ in range(2):
        events.batch(EVERY, (42, 1))
    table = events.static()
    rows = [
        table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows for snapshot in table.snapshots()
    ]
    assert rows == [42, 43, 43, 43]


def test_rows_that_are_too_old_go_with_whole_or_rewritten_files(spark, tmp_path):
    events = Events(
        spark, tmp_path, types={"id": "int", "at": "timestamp"}, retention="10 minutes", order_by="at"
    )
    times = [NOON.replace(minute=minute) for minute in (0, 1, 30, 55)]
    events.batch(0, (1, times[0]), (2, times[1]))
    events.batch(1, (3, times[2]))
    events.batch(2, (4, times[3]))
    assert [row["id"] for row in events.read()] == [1, 2, 3, 4]
    events.batch(EVERY, (5, times[3]))
    assert [row["id"] for row in events.read()] == [4, 5]


def test_files_without_rows_are_not_committed(spark, tmp_path):
    events = Events(spark, tmp_path)
    events.batch(0)
    assert write_files(events.frame(), InFolder(spark, str(events.path)).load(), "none") == []
    assert not events.tables.has_rows(events.table)
    assert events.read() == []
    events.batch(0, ROW)
    assert events.read() == []
