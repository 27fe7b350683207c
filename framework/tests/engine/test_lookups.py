"""Tables of few rows that batches look up: read without Spark, with the rows that Spark reads."""

import pytest
from pyspark.sql import functions as f
from stores.test_small_merges import COLUMNS, VALUES
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.engine.queries.start import Lookups, looking_up
from millstream.plan.nodes import Column
from millstream.queries.values import StaticRead, TableOutput
from millstream.stores.delta.spark import DeltaTables, small_tables
from millstream.stores.delta.spark.table import leave_to_spark
from millstream.stores.folders import TableFolder
from millstream.stores.spark import TableBatch

pytestmark = SPARK_WARNINGS

READ = StaticRead("t", NodeId("model", "t"))


def texts(rows):
    return sorted(text for (text,) in rows.selectExpr("cast(struct(*) as string)").collect())


class Looked:
    """A table, a batch's session, and what looks the table up there."""

    def __init__(self, spark, root, columns):
        self.session = spark.newSession()
        self.store = DeltaTables(TableFolder(str(root)), self.session)
        self.columns = tuple(Column(name, parse_type(type_)) for name, type_ in columns.items())
        self.table = TableOutput(NodeId("model", "t"), (next(iter(columns)),), self.columns)
        assert self.store.create(self.table, changes=False)
        self.view(self.session, READ)
        self.lookups = Lookups(self, [READ])
        self.batches = 0

    # what Lookups needs of `Tables`
    def view(self, session, read):
        self.store.rows(session, read.relation, self.columns).createOrReplaceTempView(read.view)

    def copied(self, relation, version):
        return self.store.copied(relation, version)

    def merge(self, rows):
        self.store.merge(rows, self.table, TableBatch("writer", self.batches, deletes=False, new=False))
        self.batches += 1

    @property
    def by_spark(self):
        return "Parquet" in self.session.table("t")._jdf.queryExecution().executedPlan().toString()

    def shown(self):
        return texts(self.session.table("t"))

    def stored(self):
        return texts(self.store.rows(self.session, NodeId("model", "t"), ()))


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_rows_of_all_types_are_those_that_spark_reads(spark, tmp_path, zone):
    looked_up = Looked(spark, tmp_path, COLUMNS)
    looked_up.session.conf.set("spark.sql.session.timeZone", zone)
    most = max(map(len, VALUES.values()))
    rows = " union all ".join(
        "select "
        + ", ".join(
            f"cast({values[n % len(values)]} as {COLUMNS[name]}) as `{name}`"
            for name, values in VALUES.items()
        )
        for n in range(most)
    )
    looked_up.merge(looked_up.session.sql(rows).dropDuplicates(["User"]))
    schema = looked_up.session.table("t").schema
    looked_up.lookups.refresh(looked_up.session)
    assert not looked_up.by_spark
    assert looked_up.session.table("t").schema == schema
    assert len(looked_up.stored()) > 3
    assert looked_up.shown() == looked_up.stored()


def test_each_batch_sees_the_newest_version(spark, tmp_path):
    looked_up = Looked(spark, tmp_path, {"id": "bigint", "text": "string"})
    seen = []
    work = looking_up(lambda _, number: seen.append((number, looked_up.shown())), looked_up, [READ])
    for number in range(3):
        looked_up.merge(
            looked_up.session.range(number, number + 2).select("id", f.lit(f"{number}").alias("text"))
        )
        work(looked_up.session.range(0), number)
        work(looked_up.session.range(0), number)
        assert seen[-2:] == [(number, looked_up.stored())] * 2
    assert len(seen[-1][1]) == 4
    assert not looked_up.by_spark


@pytest.mark.parametrize("reason", ["large", "left to Spark"])
def test_spark_reads_a_table_that_can_no_longer_be_copied(spark, tmp_path, monkeypatch, reason):
    looked_up = Looked(spark, tmp_path, {"id": "bigint", "text": "string"})
    looked_up.merge(looked_up.session.range(3).select("id", f.lit("a").alias("text")))
    looked_up.lookups.refresh(looked_up.session)
    assert not looked_up.by_spark
    if reason == "large":
        monkeypatch.setattr(small_tables, "_FEW", 10)
    else:
        leave_to_spark(looked_up.session, looked_up.store.folder.written(NodeId("model", "t")))
    looked_up.merge(looked_up.session.range(2, 9).select("id", f.lit("b").alias("text")))
    for _ in range(2):
        looked_up.lookups.refresh(looked_up.session)
        assert looked_up.by_spark
        assert looked_up.shown() == looked_up.stored()
    monkeypatch.undo()
    if reason == "large":
        looked_up.lookups.refresh(looked_up.session)
        assert not looked_up.by_spark
        assert looked_up.shown() == looked_up.stored()


def test_a_table_that_was_made_again_is_read_again(spark, tmp_path):
    looked_up = Looked(spark, tmp_path, {"id": "bigint"})
    looked_up.merge(looked_up.session.range(3))
    looked_up.lookups.refresh(looked_up.session)
    before = looked_up.shown()
    looked_up.store.drop(looked_up.table)
    assert looked_up.store.create(looked_up.table, changes=False)
    looked_up.batches = 0
    looked_up.merge(looked_up.session.range(10, 13))
    looked_up.lookups.refresh(looked_up.session)
    assert looked_up.shown() == looked_up.stored() != before
