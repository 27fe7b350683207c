"""Tables in Iceberg, built from Kafka: each record counts once, also in batches that are repeated."""

import re
import shutil
from datetime import date

import duckdb
import pytest
from example.generated import ROOT
from support.runs import built, errors, iceberg_rows
from support.shops import PROFILES, TOTALS, event, minute
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import FullRefresh, Update

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
RAW = (
    "{{ config(materialized='table', store='iceberg', partition_by='day') }} "
    f"select id, user, value, cast(at as date) as day from {EVENTS}"
)
UPSERT = TOTALS.replace("'table'", "'table', store='iceberg'")


@pytest.fixture
def lake(shop):
    shop.write(
        "profiles.yml", PROFILES.replace("kafka: embedded", "kafka: embedded, tables: {iceberg_path: lake}")
    )
    return shop


def ids(shop):
    return sorted(row["id"] for row in iceberg_rows(shop.root, "raw"))


def totals(shop):
    return {row["user"]: row["total"] for row in iceberg_rows(shop.root, "totals")}


def test_batches_that_were_stored_and_run_again_change_nothing(lake, first_spark):
    lake.model("raw", RAW)
    lake.model("totals", UPSERT)
    lake.send(event(1, value=2.0), event(2, value=3.0), event(2, user="b", value=1.0))
    _, events = built(lake.root, first_spark)
    assert errors(events) == []
    assert (ids(lake), totals(lake)) == ([1, 2, 2], {"a": 5.0, "b": 1.0})
    for commits in (lake.root / ".millstream").glob("*/checkpoints/*/spark/commits"):
        shutil.rmtree(commits)  # as if it had been killed before it wrote that
        commits.mkdir()
    lake.send(event(3, value=1.0))
    _, events = built(lake.root, first_spark)
    assert errors(events) == []
    assert (ids(lake), totals(lake)) == ([1, 2, 2, 3], {"a": 6.0, "b": 1.0})


def test_rebuilt_tables_have_the_new_rows_and_go_on(lake, first_spark):
    lake.model("raw", RAW)
    lake.model("totals", UPSERT)
    lake.send(event(1, value=2.0), event(2, value=3.0))
    built(lake.root, first_spark)
    lake.model("raw", RAW.replace("value,", "value * 2 as doubled,") + " where id > 1")
    lake.model("totals", UPSERT.replace("sum(value)", "sum(value * 10)"))
    both = frozenset({NodeId("model", "raw"), NodeId("model", "totals")})
    _, events = built(lake.root, first_spark, intent=Update(both))
    assert errors(events) == []
    assert [(row["id"], row["doubled"]) for row in iceberg_rows(lake.root, "raw")] == [(2, 6.0)]
    assert totals(lake) == {"a": 50.0}
    lake.send(event(3, value=1.0))
    built(lake.root, first_spark)
    assert (ids(lake), totals(lake)) == ([2, 3], {"a": 60.0})
    built(lake.root, first_spark, intent=FullRefresh())
    assert (ids(lake), totals(lake)) == ([2, 3], {"a": 60.0})


def test_other_tools_read_the_table_as_the_page_says(lake, first_spark, monkeypatch):
    page = (ROOT / "docs/lake.md").read_text()
    readers = re.findall(r"```python\n([^`]*StaticTable[^`]*)```", page)
    lake.model("clean_orders", RAW.replace("value,", "value as amount,"))
    lake.send(minute(1), minute(2))
    built(lake.root, first_spark)
    monkeypatch.chdir(lake.root)
    # Polars warns that its own package for Iceberg would plan faster.
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    names = {"duckdb": duckdb}
    for reader in readers:
        exec(reader, names)
    assert [row[1:] for row in names["per_day"].fetchall()] == [(2, 2.0)]
    assert names["sums"].rows() == [(date(2026, 1, 1), 2.0)]
    assert sorted(names["in_pandas"]["id"]) == [1, 2]
