"""Files that only old versions of a table need are removed in time, and small ones are combined."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores import file_sizes
from millstream.stores.delta.spark import DeltaTables, old_files
from millstream.stores.delta.spark.table import leave_to_spark
from millstream.stores.folders import TableFolder
from millstream.stores.spark import TableBatch

pytestmark = SPARK_WARNINGS

TABLE = TableOutput(
    NodeId("model", "t"), ("k",), (Column("k", parse_type("string")), Column("n", parse_type("bigint"))), {}
)


@pytest.fixture(
    params=[True, pytest.param(False, marks=pytest.mark.long)], ids=["in this process", "by Spark"]
)
def make_table(request, first_spark, tmp_path):
    """Return a function that makes a table, which keeps its old files for a time, and the store with it."""

    def make(retention, *, changes=False):
        session = first_spark.newSession()
        session.conf.set("spark.sql.shuffle.partitions", "1")
        store = DeltaTables(TableFolder(str(tmp_path)), session, retention)
        assert store.create(TABLE, changes=changes)
        if not request.param:
            leave_to_spark(session, table_path(tmp_path))
        return store

    return make


def table_path(folder):
    return f"{folder}/t"


def batch(store, number, rows):
    values = ", ".join(f"('{key}', {value}L)" for key, value in rows.items())
    frame = store.spark.sql(f"select * from values {values} as t(k, n)")
    store.merge(frame, TABLE, TableBatch("q", number, deletes=False, new=number == 0, local=True))


def on_disk(folder):
    return {path.name for path in Path(table_path(folder)).glob("*.parquet")}


def needed(folder):
    return {Path(uri).name for uri in DeltaTable(table_path(folder)).file_uris()}


def rows(store):
    return {row.k: row.n for row in store.rows(store.spark, NodeId("model", "t"), ()).collect()}


def test_what_no_version_needs_is_removed(make_table, tmp_path, monkeypatch):
    monkeypatch.setattr(file_sizes, "EVERY", 2)
    store = make_table("0 hours", changes=True)
    for number in range(3):
        batch(store, number, {"a": number, "b": number, f"c{number}": number})
    assert on_disk(tmp_path) == needed(tmp_path)
    assert not list(Path(table_path(tmp_path)).glob("_change_data/*.parquet"))
    assert rows(store) == {"a": 2, "b": 2, **{f"c{number}": number for number in range(3)}}
    batch(store, 3, {"a": 5})
    assert on_disk(tmp_path) > needed(tmp_path), "only every other batch does that"
    assert rows(store)["a"] == 5


@pytest.mark.parametrize("changes", [pytest.param(False, marks=pytest.mark.long), True])
def test_files_of_the_last_hour_are_kept(make_table, tmp_path, monkeypatch, changes):
    monkeypatch.setattr(file_sizes, "EVERY", 2)
    store = make_table(None, changes=changes)
    for number in range(4):
        batch(store, number, {"a": number})
    # Every batch replaced the file of the one before.
    assert len(on_disk(tmp_path)) == 4
    assert len(needed(tmp_path)) == 1
    if changes:
        first = DeltaTable(table_path(tmp_path)).history()[-2]["version"]
        until = DeltaTable(table_path(tmp_path)).version()
        feed = store.changed_rows(store.spark, NodeId("model", "t"), first, until)
        after = feed.where("_change_type = 'update_postimage'").collect()
        assert sorted(row.n for row in after) == [1, 2, 3]


def test_many_small_files_become_few(make_table, tmp_path, monkeypatch):
    monkeypatch.setattr(file_sizes, "EVERY", 5)
    monkeypatch.setattr(file_sizes, "_MANY", 3)
    store = make_table(None, changes=True)
    for number in range(5):
        batch(store, number, {f"k{number}": number})
    before = needed(tmp_path)
    assert len(before) > 3
    version = DeltaTable(table_path(tmp_path)).version()
    batch(store, 5, {"k0": 100})
    assert len(needed(tmp_path)) <= 2
    assert rows(store) == {f"k{number}": number for number in range(5)} | {"k0": 100}
    # Readers of the changes see that one row changed, not that files were replaced.
    changed = store.changed_rows(
        store.spark, NodeId("model", "t"), version, DeltaTable(table_path(tmp_path)).version()
    )
    feed_rows = sorted((row.k, row.n, row._change_type) for row in changed.collect())
    assert feed_rows == [("k0", 0, "update_preimage"), ("k0", 100, "update_postimage")]


@pytest.mark.parametrize(
    ("retention", "followed", "hours"),
    [(None, False, 1), (None, True, 24), ("90 minutes", True, 2), ("7 days", False, 168)],
)
def test_how_long(retention, followed, hours):
    assert old_files._hours(retention, followed=followed) == hours
