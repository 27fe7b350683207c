"""Delta tables as sources; delta-rs writes them, and DuckDB computes what is expected."""

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.delta_tables import ALL, ORDERS, append, declare, folder, good_build, stored_ids
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
    shop.model("all_orders", ALL)
    return shop


def expected(shop):
    """Return what DuckDB computes over the table."""
    orders = DeltaTable(folder(shop)).to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it
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


def test_builds_read_new_versions_once(lake, first_spark):
    lake.model("totals", TOTALS)
    append(lake, (1, "ann", 2.5), (2, "bob", 4.0))
    append(lake, (3, "ann", 1.0))
    assert lag(lake) == {("lake.orders", 2, "versions")}
    results, _ = good_build(lake, first_spark)
    assert {result.rows_read for result in results.results} == {3}
    assert totals(lake) == expected(lake)
    assert results_if_up_to_date(job_of(lake.root), lake.root / ".millstream") is not None
    # Combined files have no new rows.
    append(lake, (4, "eve", 7.0))
    DeltaTable(folder(lake)).optimize.compact()
    append(lake, (5, "bob", 0.5))
    assert lag(lake) == {("lake.orders", 3, "versions")}
    results, _ = good_build(lake, first_spark)
    assert {result.rows_read for result in results.results} == {2}
    assert (totals(lake), stored_ids(lake)) == (expected(lake), [1, 2, 3, 4, 5])
    assert lag(lake) == {("lake.orders", 0, "versions")}
    assert shown(lake, first_spark) == [1, 2, 3, 4, 5]
    # What joins the query gets the rows of the versions that it has read.
    lake.model("more", ALL)
    _, events = good_build(lake, first_spark)
    assert [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)] == []
    steps = [event for event in events if isinstance(event, SetupStep) and "backfill" in event.name]
    assert [step.message.partition(" that ")[0] for step in steps if step.done] == ["5 versions"]
    assert stored_ids(lake, "more") == [1, 2, 3, 4, 5]
    # An edited table is computed from all rows.
    lake.model("totals", TOTALS.replace("sum(doubled)", "max(doubled)"))
    good_build(lake, first_spark, intent=Apply({NodeId("model", "totals"): ("customer", "orders")}))
    assert totals(lake)["bob"] == (2, 8.0)


def test_a_start(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    append(lake, (2, "bob", 4.0))
    append(lake, (3, "ann", 1.0))
    declare(lake, "start: 1")
    good_build(lake, first_spark)
    assert (stored_ids(lake), shown(lake, first_spark)) == ([2, 3], [2, 3])
    declare(lake, "start: '2026-01-01'")
    good_build(lake, first_spark, intent=FullRefresh())
    assert (stored_ids(lake), shown(lake, first_spark)) == ([1, 2, 3], [1, 2, 3])


def test_a_run_reads_versions_as_they_come_also_with_an_added_column(lake, first_spark):
    append(lake, (1, "ann", 2.5))
    with running(lake.root, first_spark) as run:
        run.until(lambda: run.of(BatchCompleted))
        append(lake, (2, "bob", 4.0))
        run.until(lambda: sum(event.batch.rows for event in run.of(BatchCompleted)) >= 2)
        more = pa.table(
            {"id": pa.array([3], pa.int64()), "customer": ["eve"], "amount": [4.0], "note": ["x"]}
        )
        write_deltalake(folder(lake), more, mode="append", schema_mode="merge")
        run.until(lambda: sum(event.batch.rows for event in run.of(BatchCompleted)) >= 3)
    assert stored_ids(lake) == [1, 2, 3]
