"""Tables in Parquet, built from Kafka: each record counts once, also in batches that are repeated."""

import re
import shutil
from datetime import date

import pytest
from example.generated import ROOT
from support.runs import built, errors, job_of, parquet_rows
from support.shops import PROFILES, minute
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh, Update
from millstream.deploy.stages.roll_back import roll_back

pytestmark = SPARK_WARNINGS

RAW = (
    "{{ config(materialized='table', store='parquet', partition_by='day') }} "
    "select id, user, value, cast(at as date) as day from {{ source('web', 'events') }}"
)


@pytest.fixture
def lake(shop):
    tables = "kafka: embedded, tables: {parquet_path: lake}"
    shop.write("profiles.yml", PROFILES.replace("kafka: embedded", tables))
    shop.model("raw", RAW)
    return shop


def ids(shop):
    return sorted(row["id"] for row in parquet_rows(shop.root, "raw"))


def test_batches_that_were_stored_and_run_again_change_nothing(lake, first_spark):
    lake.send(minute(1), minute(2))
    _, events = built(lake.root, first_spark)
    assert errors(events) == []
    assert ids(lake) == [1, 2]
    for commits in (lake.root / ".millstream").glob("*/checkpoints/*/spark/commits"):
        shutil.rmtree(commits)  # as if it had been killed before it wrote that
        commits.mkdir()
    lake.send(minute(2), minute(3))
    _, events = built(lake.root, first_spark)
    assert ids(lake) == [1, 2, 2, 3]
    assert errors(events) == []


@pytest.mark.long
def test_rebuilt_tables_have_the_new_rows_and_can_be_rolled_back(lake, first_spark):
    lake.send(minute(1), minute(2))
    built(lake.root, first_spark)
    lake.model("raw", RAW.replace("value,", "value * 2 as doubled,") + " where id > 1")
    _, events = built(lake.root, first_spark, intent=Update(frozenset({NodeId("model", "raw")})))
    assert errors(events) == []
    assert [(row["id"], row["doubled"]) for row in parquet_rows(lake.root, "raw")] == [(2, 2.0)]
    lake.model("raw", RAW.replace("partition_by='day'", "partition_by='id'"))
    _, events = built(lake.root, first_spark, intent=Apply({}))
    assert errors(events) == []
    assert ids(lake) == [1, 2]
    assert {path.parent.name for path in lake.root.glob("lake/raw/**/*.parquet")} == {"id=1", "id=2"}
    roll_back(job_of(lake.root), lake.root / ".millstream", [].append, first_spark)
    assert ids(lake) == [2]
    assert {path.parent.name for path in lake.root.glob("lake/raw/**/*.parquet")} == {"day=2026-01-01"}
    lake.model("raw", RAW)
    built(lake.root, first_spark, intent=FullRefresh())
    assert ids(lake) == [1, 2]
    assert sorted(path.name for path in (lake.root / "lake").iterdir()) == ["_millstream", "raw"]


def test_other_tools_read_the_table_as_the_page_says(lake, first_spark, monkeypatch):
    readers = re.findall(r"```python\n([^`]*read_parquet[^`]*)```", (ROOT / "docs/lake.md").read_text())
    assert len(readers) == 2
    lake.model("clean_orders", RAW.replace("value,", "value as amount,"))
    lake.send(minute(1), minute(2))
    built(lake.root, first_spark)
    monkeypatch.chdir(lake.root)
    names = {}
    for reader in readers:
        exec(reader, names)
    assert names["per_day"].fetchall() == [(date(2026, 1, 1), 2, 2.0)]
    assert names["sums"].rows() == [(date(2026, 1, 1), 2.0)]
    assert sorted(names["in_pandas"]["id"]) == [1, 2]
