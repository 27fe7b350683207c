"""The inputs of a table over tables get, lose and rename columns that its SQL does not read."""

import pytest
from support.runs import job_of
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from maintained.killed import work_of
from millstream.engine.queries.tables import Tables
from millstream.stores.spark import TableBatch

pytestmark = SPARK_WARNINGS

CONFIG = "{{{{ config(materialized='table', unique_key='{}') }}}} "
BEFORE = {
    "hourly": ("id", "id, kind, cast(value as int) as v, 1 as lost, 2 as old"),
    "names": ("kind", "kind, user as name, 1 as lost"),
}
AFTER = {
    "hourly": ("id", "3 as renamed, kind, id, 'x' as low, cast(value as int) as v"),
    "names": ("kind", "kind, 'x' as low, user as name"),
}
SUBQUERY = "select kind, max(v) as v from {h} group by kind having max(v) <= (select max(x.v) from {h} as x)"
READERS = {
    "scalar": ("kind", SUBQUERY),
    "member": ("id", "select id, kind from {h} where kind in (select y.kind from {h} as y where y.v > 1)"),
    "absent": ("id", "select x.id from {h} as x where not exists (select 1 from {h} as y where y.kind = x.kind and y.v > x.v)"),
    "both": ("id", "select x.id, count(*) as n from {h} as x join {h} as y on x.kind = y.kind group by x.id"),
    "either": ("id", "select id, v from {h} where v > 1 union all select id + 100, v from {h} where v <= 1"),
    "named": ("id", "with a as (select id, v, kind from {h}) select a.id, n.name from a left join {n} as n on a.kind = n.kind"),
    "best": ("id", "select id, v from {h} qualify row_number() over (partition by kind order by v desc, id) = 1"),
    "all": ("id", "select * from {h} where v > 1 union select * from {h} where v <= 1"),
    "starred": ("kind", "with a as (select * from {h}) select kind, max(v) as v from a group by kind having max(v) < (select sum(a.v) from a)"),
    "sums": ("kind", "select kind, count(*) as n, sum(v) as total from {h} group by kind"),
    "rows": ("kind", "select kind, count(*) as n from {h} group by kind having count(*) > 1"),
}  # fmt: skip
FIRST = [(1, "a", 1, 0, 0), (2, "a", 2, 0, 0), (3, "b", 1, 0, 0)]


class Project:
    def __init__(self, spark, root, readers):
        self.spark, self.readers = spark, readers
        self.shop = Shop(root, "")
        for name in readers:
            key, sql = READERS[name]
            sql = sql.format(h="{{ ref('hourly') }}", n="{{ ref('names') }}")
            self.shop.model(name, CONFIG.format(key) + sql)
        self.numbers = 0

    def deploy(self, columns):
        for name, (key, sql) in columns.items():
            self.shop.model(name, CONFIG.format(key) + f"select {sql} from {{{{ source('web', 'events') }}}}")
        self.job = job_of(self.shop.root)
        self.tables = Tables(self.spark, self.job.project, self.job.catalog)
        self.outputs = {table.model: table for query in self.job.physical.queries for table in query.tables}
        for table in self.outputs.values():
            self.tables.create(table, changes=True)

    def write(self, name, *rows):
        table = self.outputs[f"model.{name}"]
        schema = ", ".join(f"{column.name} {column.type}" for column in table.columns) + ", _deleted boolean"
        frame = self.spark.createDataFrame([(*row, False) for row in rows], schema)
        self.numbers += 1
        self.tables.merge(frame, table, TableBatch("tests", self.numbers, deletes=True, new=False))

    def maintain(self):
        for name in self.readers:
            work = work_of(self.job, self.tables, name, self.tables.merge)
            work(self.spark.newSession().range(0), 0)

    def check(self):
        for relation in ("hourly", "names"):
            self.tables.rows(self.spark, self.outputs[f"model.{relation}"]).createOrReplaceTempView(relation)
        for name in self.readers:
            expected = self.spark.sql(READERS[name][1].format(h="hourly", n="names")).collect()
            stored = self.tables.rows(self.spark, self.outputs[f"model.{name}"]).collect()
            assert sorted(map(tuple, stored), key=repr) == sorted(map(tuple, expected), key=repr), name
            assert stored, name


def check_edit(spark, root, readers):
    project = Project(spark, root, readers)
    project.deploy(BEFORE)
    project.write("hourly", *FIRST)
    project.write("names", ("a", "A", 0), ("b", "B", 0))
    project.maintain()
    project.check()
    project.deploy(AFTER)
    project.write("hourly", (3, "c", 7, "y", 4), (3, "b", 3, "y", 2))
    project.maintain()
    project.check()
    project.write("names", ("b", "y", "BB"))
    project.maintain()
    project.check()


@pytest.mark.long
def test_a_reader_follows_an_input_with_other_columns(spark, tmp_path):
    check_edit(spark, tmp_path, ["starred"])


@pytest.mark.long
def test_all_kinds_of_readers_do(spark, tmp_path):
    check_edit(spark, tmp_path, list(READERS))
