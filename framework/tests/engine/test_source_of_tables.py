"""Delta and Iceberg tables as sources; other programs write them, and DuckDB computes what is expected."""

import duckdb
import pytest
from engine.test_source_matrix import lags
from support.delta_tables import ALL, ORDERS, good_build, stored_ids
from support.iceberg_tables import LAKE as ICEBERG
from support.iceberg_tables import profiles
from support.running import running
from support.runs import job_of, table_rows
from support.source_matrix import KINDS
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh
from millstream.deploy.values import BatchCompleted, DiagnosticEvent, SetupStep
from millstream.runner.commands.up_to_date import results_if_up_to_date
from millstream.runner.samples.compute import SampleRequest, source_rows

pytestmark = SPARK_WARNINGS

TOTALS = f"""
    {{{{ config(materialized='table', unique_key='customer', unbounded_state='accept') }}}}
    select customer, count(*) as orders, sum(doubled) as total from {ORDERS} group by customer
"""


@pytest.fixture(params=["delta", pytest.param("iceberg", marks=pytest.mark.long)])
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def lake(shop, kind):
    shop.write("profiles.yml", profiles(shop))
    kind.declare(shop)
    kind.prepare(shop)
    shop.model("all_orders", ALL)
    return shop


def expected(shop, kind):
    """Return what DuckDB computes over the table."""
    orders = kind.rows(shop)  # noqa: F841 - DuckDB finds it
    rows = duckdb.sql("select customer, count(*), sum(amount * 2) from orders group by customer").fetchall()
    return {customer: (count, total) for customer, count, total in rows}


def totals(shop):
    rows = table_rows(shop.root, "model.totals")
    return {row["customer"]: (row["orders"], row["total"]) for row in rows}


def lag(shop):
    return {(lag.topic, lag.records, lag.unit) for lag in lags(shop)}


def shown(shop, spark):
    job = job_of(shop.root)
    request = SampleRequest(job.project, job.catalog, NodeId("source", "lake.orders"), 10, 100, "spark.log")
    return sorted(row[0] for row in source_rows(request, spark).rows)


def test_builds_read_what_is_new_once(lake, kind, first_spark):
    lake.model("totals", TOTALS)
    kind.write(lake, (1, "ann", 2.5), (2, "bob", 4.0))
    kind.write(lake, (3, "ann", 1.0))
    assert lag(lake) == {("lake.orders", 2, kind.unit)}
    results, _ = good_build(lake, first_spark)
    assert {result.rows_read for result in results.results} == {3}
    assert totals(lake) == expected(lake, kind)
    assert results_if_up_to_date(job_of(lake.root), lake.root / ".millstream") is not None
    # Combined files have no new rows.
    kind.write(lake, (4, "eve", 7.0))
    arranged = kind.arrange(lake)
    kind.write(lake, (5, "bob", 0.5))
    assert lag(lake) == {("lake.orders", 2 + arranged, kind.unit)}
    results, _ = good_build(lake, first_spark)
    assert {result.rows_read for result in results.results} == {2}
    assert (totals(lake), stored_ids(lake)) == (expected(lake, kind), [1, 2, 3, 4, 5])
    assert lag(lake) == {("lake.orders", 0, kind.unit)}
    assert shown(lake, first_spark) == [1, 2, 3, 4, 5]
    # What joins the query gets the rows that it has read.
    lake.model("more", ALL)
    _, events = good_build(lake, first_spark)
    assert [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)] == []
    steps = [event for event in events if isinstance(event, SetupStep) and "backfill" in event.name]
    read = f"{4 + arranged} {kind.unit}"
    assert [step.message.partition(" that ")[0] for step in steps if step.done] == [read]
    assert stored_ids(lake, "more") == [1, 2, 3, 4, 5]
    # An edited table is computed from all rows.
    lake.model("totals", TOTALS.replace("sum(doubled)", "max(doubled)"))
    good_build(lake, first_spark, intent=Apply({NodeId("model", "totals"): ("customer", "orders")}))
    assert totals(lake)["bob"] == (2, 8.0)


def test_a_start(lake, kind, first_spark):
    kind.write(lake, (1, "ann", 2.5))
    kind.write(lake, (2, "bob", 4.0))
    kind.write(lake, (3, "ann", 1.0))
    kind.declare(lake, f"start: {kind.second(lake)}")
    good_build(lake, first_spark)
    assert (stored_ids(lake), shown(lake, first_spark)) == ([2, 3], [2, 3])
    kind.declare(lake, "start: '2026-01-01'")
    good_build(lake, first_spark, intent=FullRefresh())
    assert (stored_ids(lake), shown(lake, first_spark)) == ([1, 2, 3], [1, 2, 3])


@pytest.mark.long
def test_a_run_goes_on_with_another_column(lake, kind, first_spark):
    kind.write(lake, (1, "ann", 2.5))
    with running(lake.root, first_spark) as run:
        run.until(lambda: run.of(BatchCompleted))
        kind.write_with_another_column(lake, (2, "bob", 4.0))
        run.until(lambda: sum(event.batch.rows for event in run.of(BatchCompleted)) >= 2)
    assert stored_ids(lake) == [1, 2]


@pytest.mark.long
def test_an_empty_table(shop, first_spark):
    iceberg = KINDS["iceberg"]
    shop.write("profiles.yml", profiles(shop))
    iceberg.declare(shop)
    iceberg.prepare(shop)
    shop.model("all_orders", ALL)
    good_build(shop, first_spark)
    assert (stored_ids(shop), lag(shop)) == ([], {("lake.orders", 0, "snapshots")})


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
    in_folder = ICEBERG.replace("catalog: lake\n        table: shop.orders", "path: lake/orders")
    shop.write("models/lake.yml", in_folder)
    shop.model("all_orders", ALL)
    good_build(shop, first_spark)
    shop.send(("bob", {"id": 3, "value": 2.0}))
    good_build(shop, first_spark)
    good_build(shop, first_spark)
    assert stored_ids(shop) == [1, 2, 3]
