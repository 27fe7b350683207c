"""Batches mark rows of large tables as deleted: the rows stay right for all who read them, and files stay as they are."""

import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores import file_sizes
from millstream.stores.delta.spark import DeltaTables, small_tables
from millstream.stores.folders import TableFolder
from millstream.stores.spark import TableBatch

pytestmark = SPARK_WARNINGS

TABLE = TableOutput(
    NodeId("model", "t"), ("k",), (Column("k", parse_type("bigint")), Column("n", parse_type("bigint"))), {}
)
QUESTIONS = {
    "select k, n from t": lambda rows: sorted(rows.items()),
    "select count(*) from t": lambda rows: [(len(rows),)],
    "select min(k), max(k), min(n), max(n) from t": lambda rows: [
        (min(rows), max(rows), min(rows.values()), max(rows.values()))
    ],
    "select count(n) from t where k > 900": lambda rows: [(sum(k > 900 for k in rows),)],
    "select n from t where k = 17": lambda rows: [(rows[17],)] if 17 in rows else [],
    "select k from t where n >= 1000 order by k limit 5": lambda rows: [
        (k,) for k in sorted(rows) if rows[k] >= 1000
    ][:5],
}
"""SQL, and the same in Python."""


@pytest.fixture
def large(monkeypatch):
    """Let every table count as large."""
    monkeypatch.setattr(small_tables, "LARGEST", -1)


@pytest.fixture
def store(first_spark, tmp_path):
    session = first_spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    tables = DeltaTables(TableFolder(str(tmp_path)), session)
    assert tables.create(TABLE, changes=True)
    return tables


def merge(store, number, rows, deleted=(), *, local=False):
    values = ", ".join(
        [*(f"({k}, {n}, false)" for k, n in rows.items()), *(f"({k}, 0, true)" for k in deleted)]
    )
    frame = store.spark.sql(
        f"select cast(k as bigint) k, cast(n as bigint) n, _deleted from values {values} as t(k, n, _deleted)"
    )
    store.merge(frame, TABLE, TableBatch("q", number, deletes=True, new=number == 0, local=local))


def table(store):
    return DeltaTable(store.folder.written(NodeId("model", "t")))


def marked(store):
    return pa.table(table(store).deletion_vectors()).num_rows


def files(store):
    return {Path(uri).name for uri in table(store).file_uris()}


def by_spark(store):
    return sorted(map(tuple, store.rows(store.spark, NodeId("model", "t"), ()).collect()))


def here(store, sql="select k, n from t"):
    """Return what DataFusion finds, without Spark."""
    reader = QueryBuilder().register("t", table(store)).execute(sql)
    return sorted(tuple(row.values()) for row in pa.table(reader.read_all()).to_pylist())


@pytest.mark.parametrize(
    ("seed", "batches"), [(5, 2), *(pytest.param(seed, 15, marks=pytest.mark.long) for seed in (6, 7))]
)
def test_random_batches_leave_the_same_rows_for_all_readers(large, store, monkeypatch, seed, batches):
    monkeypatch.setattr(file_sizes, "EVERY", 3)
    dice, rows, changes = random.Random(seed), {k: k for k in range(1000)}, []
    merge(store, 0, rows)
    first = table(store).version()
    for number in range(1, batches + 1):
        newer = {dice.randrange(1200): 1000 * number + n for n in range(dice.choice([1, 20, 200]))}
        deleted = [
            k for k in (dice.randrange(1200) for _ in range(dice.choice([0, 3, 50]))) if k not in newer
        ]
        deleted = list(dict.fromkeys(deleted))
        changes += [("delete", k, rows[k]) for k in deleted if k in rows]
        changes += [("update_preimage", k, rows[k]) for k in newer if k in rows]
        changes += [("update_postimage" if k in rows else "insert", k, n) for k, n in newer.items()]
        rows = {k: n for k, n in (rows | newer).items() if k not in deleted}
        merge(store, number, newer, deleted, local=number % 2 == 0)
        assert by_spark(store) == sorted(rows.items())
        for sql, expected in QUESTIONS.items():
            assert here(store, sql) == expected(rows), (number, sql)
        assert marked(store) or number % 3 == 0, "combining small files drops marked rows"
    feed = store.changed_rows(store.spark, NodeId("model", "t"), first, table(store).version())
    assert sorted(map(tuple, feed.select("_change_type", "k", "n").collect())) == sorted(changes)


def test_files_stay_as_they_are(large, store):
    merge(store, 0, {k: k for k in range(1000)})
    before = files(store)
    for number in range(1, 4):
        merge(store, number, {number: -number})
    assert files(store) > before
    assert marked(store) == 1


def test_small_tables_have_no_marks(store):
    merge(store, 0, {k: k for k in range(1000)})
    before = files(store)
    merge(store, 1, {5: 50})
    assert not marked(store)
    assert before - files(store), "a file was written again"


@pytest.mark.long
def test_a_table_that_grows_has_marks_from_then_on(store, monkeypatch):
    merge(store, 0, {k: k for k in range(1000)}, local=True)
    merge(store, 1, {5: 50}, local=True)  # by delta-rs
    monkeypatch.setattr(small_tables, "LARGEST", -1)
    merge(store, 2, {6: 60, 5: 51}, local=True)
    monkeypatch.undo()
    merge(store, 3, {7: 70}, [8], local=True)
    assert marked(store)
    expected = {k: k for k in range(1000) if k != 8} | {5: 51, 6: 60, 7: 70}
    assert by_spark(store) == here(store) == sorted(expected.items())


@pytest.mark.long
def test_marks_can_be_refused(large, store):
    refusing = DeltaTables(store.folder, store.spark, marks=False)
    merge(store, 0, {k: k for k in range(1000)})
    merge(refusing, 1, {5: 50})
    assert not marked(store)
    merge(store, 2, {6: 60})
    assert marked(store) == 1
    merge(refusing, 3, {7: 70})
    assert not marked(store), "the file was written again"
    expected = {k: k for k in range(1000)} | {5: 50, 6: 60, 7: 70}
    assert by_spark(store) == here(store) == sorted(expected.items())


@pytest.mark.long
def test_marks_that_no_version_needs_are_removed(large, store, monkeypatch):
    monkeypatch.setattr(file_sizes, "EVERY", 3)
    tidy = DeltaTables(store.folder, store.spark, "0 hours")
    merge(tidy, 0, {k: k for k in range(1000)})
    folder = Path(store.folder.written(NodeId("model", "t")))
    merge(tidy, 1, {5: 50})
    assert list(folder.rglob("deletion_vector_*.bin"))
    merge(tidy, 2, {6: 60})
    merge(tidy, 3, {7: 70})
    assert not list(folder.rglob("deletion_vector_*.bin"))
    expected = {k: k for k in range(1000)} | {5: 50, 6: 60, 7: 70}
    assert by_spark(store) == here(store) == sorted(expected.items())
