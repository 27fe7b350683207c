"""Batches of few rows that are stored in a Delta table without Spark, and what Spark makes of the same batches."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable
from msgspec.structs import replace
from pyarrow.parquet import read_metadata
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.delta.spark import DeltaTables
from millstream.stores.delta.spark.table import leave_to_spark
from millstream.stores.folders import TableFolder
from millstream.stores.spark import TableBatch

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

COLUMNS = {
    "User": "string",
    "on_day": "date",
    "at": "timestamp",
    "order": "bigint",
    'with"quote': "int",
    "a.b": "struct<x:int,Y:array<decimal(30,12)>>",
    "ratio": "double",
    "small": "float",
    "price": "decimal(38,10)",
    "zoneless": "timestamp_ntz",
    "raw": "binary",
    "flag": "boolean",
    "tiny": "tinyint",
    "short": "smallint",
    "names": "map<string,array<date>>",
}
VALUES = {
    "User": ["'a'", "'ä𝄞'", "'b'", "''", "null", "repeat('z', 99)"],
    "on_day": ["date'0001-01-01'", "date'9999-12-31'", "null", "date'2026-01-01'"],
    "at": ["timestamp'0001-01-01 00:00:00'", "timestamp'9999-12-31 23:59:59.999999'", "timestamp'2026-01-01 00:00:00'", "null"],
    "order": ["9223372036854775807L", "-1L", "0L", "null", "1L"],
    'with"quote': ["1", "null", "-2147483648"],
    "a.b": ["named_struct('x', 1, 'Y', array(1.5, null))", "named_struct('x', null, 'Y', null)", "null"],
    "ratio": ["double('NaN')", "double('Infinity')", "-0.0d", "1.5d", "null"],
    "small": ["float('NaN')", "1.1f", "null"],
    "price": ["1234567890123456789012345678.0123456789", "1234567890123456789012345678.0123456788", "null", "0"],
    "zoneless": ["timestamp_ntz'0001-01-01 00:00:00'", "timestamp_ntz'9999-12-31 23:59:59.999999'", "null"],
    "raw": ["x'00ff'", "x''", "null"],
    "flag": ["true", "false", "null"],
    "tiny": ["-128Y", "127Y", "null"],
    "short": ["-32768S", "null"],
    "names": ["map('k', array(date'2020-02-29', null))", "map()", "null"],
}  # fmt: skip
SKIP_CONDITIONS = [
    "ratio > 100",
    "ratio = double('NaN')",
    "price = 1234567890123456789012345678.0123456789",
    "at < timestamp'1000-01-01'",
    "User > 'zzz'",
]
"""Conditions by which Spark may skip files."""


class Pair:
    """The same table twice: batches of few rows may be stored without Spark, or not."""

    def __init__(self, spark, root, keys, order_by, named=tuple(COLUMNS)):
        self.spark, self.named = spark, named
        columns = tuple(Column(name, parse_type(COLUMNS[name])) for name in named)
        self.table = TableOutput(
            NodeId("model", "t"), keys, columns, {"order_by": order_by} if order_by else {}
        )
        self.stores = {
            local: DeltaTables(TableFolder(str(root / str(local))), spark) for local in (True, False)
        }
        for store in self.stores.values():
            assert store.create(self.table, changes=True)

    def batch(self, rows, number, *, deletes=True, new=False, table=None):
        text = ", ".join(f"({', '.join(row)})" for row in rows)
        kinds = {**COLUMNS, "_deleted": "boolean"}
        cast = ", ".join(f"cast(c{i} as {kind}) as `{name}`" for i, (name, kind) in enumerate(kinds.items()))
        named = ", ".join(f"c{number}" for number in range(len(kinds)))
        frame = self.spark.sql(f"select {cast} from values {text} as t({named})")
        frame = frame.drop(*(name for name in COLUMNS if name not in self.named))
        frame = frame if deletes else frame.drop("_deleted")
        for local, store in self.stores.items():
            store.merge(
                frame, table or self.table, TableBatch("q", number, deletes=deletes, new=new, local=local)
            )

    def path(self, local):
        return self.stores[local].folder.written(NodeId("model", "t"))

    def rows(self, local, condition="true"):
        table_rows = (
            self.stores[local].rows(self.spark, NodeId("model", "t"), self.table.columns).where(condition)
        )
        return Counter(text for (text,) in table_rows.selectExpr("cast(struct(*) as string)").collect())

    def changes(self, local):
        feed = self.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
        changed = feed.load(self.path(local)).drop("_commit_timestamp", "_commit_version")
        return Counter(text for (text,) in changed.selectExpr("cast(struct(*) as string)").collect())

    def with_statistics(self):
        """Return the columns of which delta-rs wrote statistics, which Spark uses to skip rows."""
        files = [f for f in Path(self.path(True)).rglob("*.parquet") if "-rs" in read_metadata(f).created_by]
        assert any("_change_data" in file.parts for file in files)
        groups = [read_metadata(file).row_group(0) for file in files]
        columns = [group.column(number) for group in groups for number in range(group.num_columns)]
        return {column.path_in_schema for column in columns if column.is_stats_set}

    def engines(self, local):
        commits = DeltaTable(self.path(local)).history()
        return {
            commit.get("engineInfo", "").partition(":")[0]
            for commit in commits
            if commit["operation"] == "MERGE"
        }


def some(dice, keys, count):
    """Return random rows with different keys."""
    by_key = {}
    for _ in range(count):
        row = [dice.choice(VALUES[name]) for name in COLUMNS]
        row.append(dice.choice(["true", "false", "false"]))
        by_key[tuple(row[list(COLUMNS).index(key)] for key in keys)] = row
    return list(by_key.values())


@pytest.mark.parametrize(
    ("keys", "order_by", "seed"),
    [
        (("User",), "order", 1),
        (("on_day", "User"), "at", 2),
        (("price",), None, 3),
        (("at", "flag"), "zoneless", 4),
        (('with"quote', "raw", "tiny"), "User", 5),
    ],
)
def test_both_store_the_same_rows_and_changes(spark, tmp_path, keys, order_by, seed):
    pair, dice = Pair(spark, tmp_path, keys, order_by), random.Random(seed)
    pair.batch(some(dice, keys, 6), 0, new=True)
    for number in range(1, 4):
        rows = some(dice, keys, 5)
        pair.batch(rows, number, deletes=number % 2 == 0)
        if number == 2:
            pair.batch(some(dice, keys, 5), number)  # repeated: nothing may change
    assert pair.rows(True) == pair.rows(False)
    assert sum(pair.rows(True).values()) > 1
    for condition in SKIP_CONDITIONS:
        assert pair.rows(True, condition) == pair.rows(False, condition), condition
    assert pair.changes(True) == pair.changes(False)
    assert pair.with_statistics() <= {*keys, order_by}
    assert pair.engines(True) == {"delta-rs"}
    assert pair.engines(False) == {"Apache-Spark/4.2.0 Delta-Lake/4.4.0"}


@pytest.mark.parametrize(
    ("keys", "order_by", "seed"), [(("User",), "order", 1), (("on_day", "flag"), None, 2)]
)
def test_both_swap_the_same_rows_and_changes(spark, tmp_path, keys, order_by, seed):
    named = [name for name in COLUMNS if name not in {"a.b", "names"}]
    pair, dice = Pair(spark, tmp_path, keys, order_by, named), random.Random(seed)
    rebuilt = replace(pair.table, model=NodeId("model", "t.rebuilt"))
    retained = replace(pair.table, model=NodeId("model", "t.previous"))
    for number in range(3):
        pair.batch(some(dice, keys, 6), number, deletes=False)
    before = pair.rows(True)
    rebuilt_rows = [*some(dice, keys, 3), *some(dice, keys, 3)]
    for store in pair.stores.values():
        store.create(rebuilt, changes=False)
        store.copy(pair.table, retained)
    pair.batch(rebuilt_rows[:3], 0, deletes=False, table=rebuilt)
    pair.batch(rebuilt_rows[3:], 1, deletes=False, table=rebuilt)
    for _ in range(2):  # the second one changes nothing
        for local, store in pair.stores.items():
            if not local:
                leave_to_spark(spark, store.folder.written(rebuilt.model))
            store.swap(rebuilt, pair.table, "one", changes=True)
    assert pair.rows(True) == pair.rows(False) != before
    assert pair.changes(True) == pair.changes(False)
    assert pair.engines(True) == {"delta-rs"}
    assert "delta-rs" not in pair.engines(False)
    store = pair.stores[True]
    store.swap(retained, pair.table, "back", changes=True)
    assert pair.rows(True) == before
    assert pair.engines(True) == {"delta-rs"}


def test_what_would_differ_is_left_to_spark(spark, tmp_path):
    for number, (keys, order_by) in enumerate([(("ratio",), None), (("User",), "small"), (("a.b",), None)]):
        pair = Pair(spark, tmp_path / str(number), keys, order_by)
        row = [VALUES[name][0] for name in COLUMNS]
        pair.batch([[*row, "false"]], 0)
        assert pair.engines(True) == pair.engines(False)


def test_a_table_with_other_timestamps_is_left_to_spark(spark, tmp_path):
    pair = Pair(spark, tmp_path, ("User",), None)
    row = [VALUES[name][0] for name in COLUMNS]
    pair.batch([[*row, "false"]], 0)
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    try:
        assert not pair.stores[True].create(pair.table, changes=True)
    finally:
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    before = DeltaTable(pair.path(True)).version()
    pair.batch([[*row, "false"]], 1)
    (last, *_) = DeltaTable(pair.path(True)).history(1)
    assert (DeltaTable(pair.path(True)).version(), last["engineInfo"][:12]) == (before + 1, "Apache-Spark")
    assert pair.rows(True) == pair.rows(False)


def test_spark_reads_the_checkpoints_of_a_long_log(spark, tmp_path):
    pair = Pair(spark, tmp_path, ("User",), "order")
    spark.sql(f"alter table delta.`{pair.path(True)}` set tblproperties ('delta.checkpointInterval' = '5')")
    dice = random.Random(6)
    for number in range(12):
        pair.batch(some(dice, ("User",), 2), number)
    log = tmp_path / "True/t/_delta_log"
    last = json.loads((log / "_last_checkpoint").read_text())["version"]
    for number in range(last):
        (log / f"{number:020}.json").unlink()
    assert pair.rows(True) == pair.rows(False)
    pair.batch(some(dice, ("User",), 2), 11)
    pair.batch(some(dice, ("User",), 2), 12)
    assert pair.rows(True) == pair.rows(False)
