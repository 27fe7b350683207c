"""Tables to which rows are only appended: each row once, arranged in files as the model says."""

import re
from datetime import date

import pytest
from deltalake import DeltaTable
from example.generated import ROOT
from msgspec.structs import replace
from support.runs import built, errors, job_of, table_rows
from support.shops import minute
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import records_in
from millstream.deploy.planning.intents import Apply, FullRefresh, Update
from millstream.deploy.stages.roll_back import roll_back
from millstream.deploy.values import TableCompared
from millstream.project.folders import checkpoints_of
from millstream.stores.files import LocalFiles

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
RAW = f"{{{{ config(materialized='table') }}}} select id, kind, value, at, cast(at as date) as day from {EVENTS}"
COUNTS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, count(*) as events from {{ ref('raw') }} group by kind
"""

KINDS = """
    {{ config(materialized='table', unique_key='kind', refresh='incremental') }}
    select kind, count(*) as n, max(id) as largest from {{ ref('raw') }} group by kind
"""


def configured(**options):
    return RAW.replace(
        "'table'", ", ".join(["'table'", *(f"{name}={value!r}" for name, value in options.items())])
    )


def ids(shop, table="raw"):
    return sorted(row["id"] for row in table_rows(shop.root, f"model.{table}"))


def folder(shop, table="raw"):
    return shop.root / ".millstream/local/tables" / table


@pytest.mark.long
def test_rows_are_appended_once_and_readers_get_the_rows_that_tests_let_through(shop, first_spark):
    shop.model("raw", RAW)
    shop.model("counts", COUNTS)
    shop.write(
        "models/raw.yml",
        "models: [{name: raw, columns: [{name: id, tests: [{expression: {expression: id <> 3, severity: drop}}]}]}]",
    )
    shop.send(minute(1), minute(1), minute(2), minute(3))
    built(shop.root, first_spark)
    assert ids(shop) == [1, 1, 2]
    assert [row["events"] for row in table_rows(shop.root, "model.counts")] == [3]
    shop.send(minute(2), minute(3))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert ids(shop) == [1, 1, 2, 2]
    assert [row["events"] for row in table_rows(shop.root, "model.counts")] == [4]
    built(shop.root, first_spark, intent=FullRefresh())
    assert ids(shop) == [1, 1, 2, 2]


def test_other_tools_read_the_table_as_the_page_says(shop, first_spark, monkeypatch):
    page = (ROOT / "docs/lake.md").read_text()
    readers = [
        text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "tables/clean_orders" in text
    ]
    shop.model("clean_orders", configured(partition_by="day").replace("value,", "value as amount,"))
    shop.send(minute(1), minute(2))
    built(shop.root, first_spark)
    monkeypatch.chdir(shop.root)
    names = {}
    for reader in readers:
        exec(reader, names)
    assert names["per_day"].fetchall() == [(date(2026, 1, 1), 2, 2.0)]
    assert sorted(names["first_day"]["id"]) == [1, 2]
    assert names["sums"].rows() == [(date(2026, 1, 1), 2.0)]


def test_files_are_in_a_folder_for_each_day(shop, first_spark):
    shop.model("raw", configured(partition_by="day"))
    shop.send(minute(1), minute(2))
    built(shop.root, first_spark)
    assert ids(shop) == [1, 2]
    assert {file.parent.name for file in folder(shop).rglob("*.parquet")} == {"day=2026-01-01"}
    assert DeltaTable(str(folder(shop))).metadata().partition_columns == ["day"]
    shop.model("raw", configured(partition_by="kind"))
    shop.send(minute(3))
    built(shop.root, first_spark, intent=FullRefresh())
    assert DeltaTable(str(folder(shop))).metadata().partition_columns == ["kind"]
    assert ids(shop) == [1, 2, 3]


def test_an_unchanged_table_is_described_by_the_record_of_its_query(shop, first_spark):
    shop.model("raw", configured(partition_by="day"))
    shop.send(minute(1))
    built(shop.root, first_spark)
    job = job_of(shop.root)
    (record,) = records_in(LocalFiles(), checkpoints_of(job.project.target, shop.root)).values()
    (table,) = (table for query in job.physical.queries for table in query.tables)
    assert record.describes(table)
    assert not record.describes(replace(table, options={"cluster_by": ["day"]}))


@pytest.mark.long
def test_a_rolled_back_table_has_its_folders_again(shop, first_spark):
    raw = configured(partition_by="day")
    shop.model("raw", raw)
    shop.send(minute(1), minute(2))
    built(shop.root, first_spark)
    shop.model("raw", raw.replace("select id", "select id, 1 as one"))
    _, events = built(shop.root, first_spark, intent=Apply({}))
    assert errors(events) == []
    roll_back(job_of(shop.root), shop.root / ".millstream", [].append, first_spark)
    assert DeltaTable(str(folder(shop))).metadata().partition_columns == ["day"]
    shop.model("raw", raw)
    shop.send(minute(3))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert ids(shop) == [1, 2, 3]


def kinds(shop):
    return [(row["kind"], row["n"], row["largest"]) for row in table_rows(shop.root, "model.kinds")]


@pytest.mark.long
def test_an_added_column_and_another_filter_are_applied(shop, first_spark):
    shop.model("raw", RAW)
    shop.model("kinds", KINDS)
    shop.send(minute(1), minute(2), minute(2))
    built(shop.root, first_spark)
    assert kinds(shop) == [("x", 3, 2)]
    shop.model("raw", RAW.replace("select id", "select id, value * 2 as doubled"))
    _, events = built(shop.root, first_spark, intent=Update(frozenset({"model.raw"})))
    assert errors(events) == []
    assert [row["doubled"] for row in table_rows(shop.root, "model.raw")] == [2.0, 2.0, 2.0]
    assert kinds(shop) == [("x", 3, 2)]
    shop.model("raw", RAW + " where id > 1")
    built(shop.root, first_spark, intent=Update(frozenset({NodeId("model", "raw")})))
    assert ids(shop) == [2, 2]
    assert kinds(shop) == [("x", 2, 2)]
    shop.send(minute(3))
    assert errors(built(shop.root, first_spark)[1]) == []
    assert kinds(shop) == [("x", 3, 3)]


@pytest.mark.long
def test_a_rebuild_is_compared_by_how_often_values_occur(shop, first_spark):
    deduplicated = RAW.replace("'table'", "'table', dedupe={'keys': 'id', 'within': '1 hour'}")
    shop.model("raw", deduplicated)
    shop.send(minute(1), minute(2), minute(2))
    built(shop.root, first_spark)
    assert ids(shop) == [1, 2]
    shop.model(
        "raw", deduplicated.replace("'1 hour'", "'2 hours'").replace("select id", "select id, 1 as one")
    )
    untouched = {"model.raw": ("id", "kind", "value", "at", "day")}
    _, events = built(shop.root, first_spark, intent=Apply(untouched))
    (compared,) = [event for event in events if isinstance(event, TableCompared)]
    assert (compared.rows, compared.less) == (2, "")
    assert [row["one"] for row in table_rows(shop.root, "model.raw")] == [1, 1]
