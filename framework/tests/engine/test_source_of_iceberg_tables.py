"""Iceberg tables as sources; pyiceberg writes them, and DuckDB computes what is expected."""

import duckdb
import pytest
from pyiceberg.types import LongType
from support.delta_tables import ALL, ORDERS, good_build, stored_ids
from support.iceberg_tables import LAKE, append, create, declare, loaded, profiles
from support.running import running
from support.runs import job_of, table_rows
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh
from millstream.deploy.values import BatchCompleted, DiagnosticEvent, SetupStep
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.ops.lag import topic_lags
from millstream.project.folders import checkpoints_of
from millstream.runner.commands.up_to_date import results_if_up_to_date
from millstream.runner.samples.compute import SampleRequest, source_rows

pytestmark = SPARK_WARNINGS

TOTALS = f"""
    {{{{ config(materialized='table', unique_key='customer', unbounded_state='accept') }}}}
    select customer, count(*) as orders, sum(doubled) as total from {ORDERS} group by customer
"""


@pytest.fixture
def lake(shop):
    declare(shop)
    create(shop)
    shop.model("all_orders", ALL)
    return shop


def expected(shop):
    """Return what DuckDB computes over the table."""
    orders = loaded(shop).scan().to_arrow()  # noqa: F841 - DuckDB finds it
    rows = duckdb.sql("select customer, count(*), sum(amount * 2) from orders group by customer").fetchall()
    return {customer: (count, total) for customer, count, total in rows}


def totals(shop):
    rows = table_rows(shop.root, "model.totals")
    return {row["customer"]: (row["orders"], row["total"]) for row in rows}


def lag(shop):
    job = job_of(shop.root)
    checkpoints = checkpoints_of(job.project.target, shop.root)
    admin = admin_of(Cluster(shop.bootstrap, embedded=True))
    lags = topic_lags(admin, job.project, job.physical.queries, checkpoints)
    return {(lag.topic, lag.records, lag.unit) for lag in lags}


def shown(shop, spark):
    job = job_of(shop.root)
    request = SampleRequest(job.project, job.catalog, NodeId("source", "lake.orders"), 10, 100, "spark.log")
    return sorted(row[0] for row in source_rows(request, spark).rows)


@pytest.mark.long
def test_builds_read_new_snapshots_once(lake, first_spark):
    lake.model("totals", TOTALS)
    good_build(lake, first_spark)
    assert (stored_ids(lake), lag(lake)) == ([], {("lake.orders", 0, "snapshots")})
    append(lake, (1, "ann", 2.5), (2, "bob", 4.0))
    append(lake, (3, "ann", 1.0))
    assert lag(lake) == {("lake.orders", 2, "snapshots")}
    results, _ = good_build(lake, first_spark)
    assert {result.rows_read for result in results.results} == {3}
    assert totals(lake) == expected(lake)
    assert results_if_up_to_date(job_of(lake.root), lake.root / ".millstream") is not None
    append(lake, (4, "eve", 7.0))
    append(lake, (5, "bob", 0.5))
    assert lag(lake) == {("lake.orders", 2, "snapshots")}
    results, _ = good_build(lake, first_spark)
    assert {result.rows_read for result in results.results} == {2}
    assert (totals(lake), stored_ids(lake)) == (expected(lake), [1, 2, 3, 4, 5])
    assert lag(lake) == {("lake.orders", 0, "snapshots")}
    assert shown(lake, first_spark) == [1, 2, 3, 4, 5]
    # What joins the query gets the rows of the snapshots that it has read.
    lake.model("more", ALL)
    _, events = good_build(lake, first_spark)
    assert [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)] == []
    steps = [event for event in events if isinstance(event, SetupStep) and "backfill" in event.name]
    assert [step.message.partition(" that ")[0] for step in steps if step.done] == ["4 snapshots"]
    assert stored_ids(lake, "more") == [1, 2, 3, 4, 5]
    # An edited table is computed from all rows.
    lake.model("totals", TOTALS.replace("sum(doubled)", "max(doubled)"))
    good_build(lake, first_spark, intent=Apply({NodeId("model", "totals"): ("customer", "orders")}))
    assert totals(lake)["bob"] == (2, 8.0)


@pytest.mark.long
def test_a_start(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    append(lake, (2, "bob", 4.0))
    append(lake, (3, "ann", 1.0))
    second = loaded(lake).snapshots()[1]
    declare(lake, f"start: {second.snapshot_id}")
    good_build(lake, first_spark)
    assert (stored_ids(lake), shown(lake, first_spark)) == ([2, 3], [2, 3])
    declare(lake, "start: '2026-01-01'")
    good_build(lake, first_spark, intent=FullRefresh())
    assert (stored_ids(lake), shown(lake, first_spark)) == ([1, 2, 3], [1, 2, 3])


@pytest.mark.long
def test_a_run_reads_snapshots_as_they_come_also_with_other_columns(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    with running(lake.root, first_spark) as run:
        run.until(lambda: run.of(BatchCompleted))
        append(lake, (2, "bob", 4.0))
        run.until(lambda: sum(event.batch.rows for event in run.of(BatchCompleted)) >= 2)
        with loaded(lake).update_schema() as update:
            update.add_column("note", LongType())
            update.move_first("note")
        loaded(lake).append(loaded(lake).scan(row_filter="id = 1").to_arrow())
        run.until(lambda: sum(event.batch.rows for event in run.of(BatchCompleted)) >= 3)
    assert stored_ids(lake) == [1, 2]


@pytest.mark.long
def test_a_folder_of_the_own_store(shop, first_spark):
    """The store's tables are folders, in no catalog."""
    with_store = profiles(shop).replace("catalogs:", "tables: {iceberg_path: lake}\n      catalogs:")
    shop.write("profiles.yml", with_store)
    shop.model(
        "orders",
        "{{ config(materialized='table', store='iceberg', partition_by='customer') }} "
        "select cast(id as bigint) as id, user as customer, value as amount from {{ source('web', 'events') }}",
    )
    shop.send(("ann", {"id": 1, "value": 1.5}), ("bob", {"id": 2, "value": 2.5}))
    good_build(shop, first_spark)
    in_folder = LAKE.replace("catalog: lake\n        table: shop.orders", "path: lake/orders")
    shop.write("models/lake.yml", in_folder)
    shop.model("all_orders", ALL)
    good_build(shop, first_spark)
    shop.send(("bob", {"id": 3, "value": 2.0}))
    good_build(shop, first_spark)
    good_build(shop, first_spark)
    assert stored_ids(shop) == [1, 2, 3]
