"""Tables of few rows that batches look up: read without Spark, with the rows that Spark reads."""

import pytest
from pyspark.sql import functions as f
from stores.test_small_merges import COLUMNS, VALUES
from support.spark import SPARK_WARNINGS

from millstream.core.types import parse_type
from millstream.engine.queries.lookups import Lookups, looking_up
from millstream.plan.nodes import Column
from millstream.queries.values import StaticRead, TableOutput
from millstream.stores.delta.folder import DeltaFolder
from millstream.stores.delta.spark import DeltaTables, small
from millstream.stores.delta.spark.table import leave
from millstream.stores.spark import Batch

pytestmark = SPARK_WARNINGS

READ = StaticRead("t", "model.t")


def texts(rows):
    return sorted(text for (text,) in rows.selectExpr("cast(struct(*) as string)").collect())


class Looked:
    """A table, a batch's session, and what looks the table up there."""

    def __init__(self, spark, root, columns):
        self.session = spark.newSession()
        self.store = DeltaTables(DeltaFolder(str(root)), self.session)
        self.columns = tuple(Column(name, parse_type(type_)) for name, type_ in columns.items())
        self.table = TableOutput("model.t", (next(iter(columns)),), self.columns)
        assert self.store.create(self.table, changes=False)
        self.view(self.session, READ)
        self.lookups = Lookups(self, [READ])
        self.batches = 0

    # what Lookups needs of `Tables`
    def view(self, session, read):
        self.store.rows(session, read.relation, self.columns).createOrReplaceTempView(read.view)

    def copied(self, relation, known):
        return self.store.copied(relation, known)

    def merge(self, rows):
        self.store.merge(rows, self.table, Batch("writer", self.batches, deletes=False, new=False))
        self.batches += 1

    @property
    def by_spark(self):
        return "Parquet" in self.session.table("t")._jdf.queryExecution().executedPlan().toString()

    def shown(self):
        return texts(self.session.table("t"))

    def stored(self):
        return texts(self.store.rows(self.session, "model.t", ()))


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_rows_of_all_types_are_those_that_spark_reads(spark, tmp_path, zone):
    found = Looked(spark, tmp_path, COLUMNS)
    found.session.conf.set("spark.sql.session.timeZone", zone)
    most = max(map(len, VALUES.values()))
    rows = " union all ".join(
        "select "
        + ", ".join(
            f"cast({values[n % len(values)]} as {COLUMNS[name]}) as `{name}`"
            for name, values in VALUES.items()
        )
        for n in range(most)
    )
    found.merge(found.session.sql(rows).dropDuplicates(["User"]))
    schema = found.session.table("t").schema
    found.lookups.refresh(found.session)
    assert not found.by_spark
    assert found.session.table("t").schema == schema
    assert len(found.stored()) > 3
    assert found.shown() == found.stored()


def test_each_batch_sees_the_newest_version(spark, tmp_path):
    found = Looked(spark, tmp_path, {"id": "bigint", "text": "string"})
    seen = []
    work = looking_up(lambda _, number: seen.append((number, found.shown())), found, [READ])
    for number in range(3):
        found.merge(found.session.range(number, number + 2).select("id", f.lit(f"{number}").alias("text")))
        work(found.session.range(0), number)
        work(found.session.range(0), number)
        assert seen[-2:] == [(number, found.stored())] * 2
    assert len(seen[-1][1]) == 4
    assert not found.by_spark


@pytest.mark.parametrize("reason", ["large", "left to Spark"])
def test_spark_reads_a_table_that_can_no_longer_be_copied(spark, tmp_path, monkeypatch, reason):
    found = Looked(spark, tmp_path, {"id": "bigint", "text": "string"})
    found.merge(found.session.range(3).select("id", f.lit("a").alias("text")))
    found.lookups.refresh(found.session)
    assert not found.by_spark
    if reason == "large":
        monkeypatch.setattr(small, "_FEW", 10)
    else:
        leave(found.session, found.store.folder.written("model.t"))
    found.merge(found.session.range(2, 9).select("id", f.lit("b").alias("text")))
    for _ in range(2):
        found.lookups.refresh(found.session)
        assert found.by_spark
        assert found.shown() == found.stored()
    monkeypatch.undo()
    if reason == "large":
        found.lookups.refresh(found.session)
        assert not found.by_spark
        assert found.shown() == found.stored()


def test_a_table_that_was_made_again_is_read_again(spark, tmp_path):
    found = Looked(spark, tmp_path, {"id": "bigint"})
    found.merge(found.session.range(3))
    found.lookups.refresh(found.session)
    before = found.shown()
    found.store.drop(found.table)
    assert found.store.create(found.table, changes=False)
    found.batches = 0
    found.merge(found.session.range(10, 13))
    found.lookups.refresh(found.session)
    assert found.shown() == found.stored() != before
