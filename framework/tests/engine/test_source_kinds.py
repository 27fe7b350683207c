"""A kind of source that has nothing to do with Kafka: what an installed package adds works like a topic."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.kinds import LAKE, parquet_folders  # noqa: F401 - a fixture
from support.runs import built, errors, job_of, statuses, table_rows
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh
from millstream.deploy.values import DiagnosticEvent, SetupStep, TableCompared
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.ops.lag import topic_lags
from millstream.project.folders import checkpoints_of
from millstream.queries.topology import with_ancestors
from millstream.runner.commands.up_to_date import results_if_up_to_date
from millstream.runner.samples.compute import SampleRequest, compute_rows, source_rows

pytestmark = SPARK_WARNINGS

ORDERS = "{{ source('lake', 'orders') }}"
TOTALS = f"""
    {{{{ config(materialized='table', unique_key='customer') }}}}
    select customer, count(*) as orders, sum(doubled) as total from {ORDERS} group by customer
"""
LATEST = f"""
    {{{{ config(materialized='table', unique_key='id') }}}}
    select id, amount, _file as file from {ORDERS}
"""
LARGE = f"{{{{ config(materialized='sink') }}}} select id, amount from {ORDERS} where amount > 3"


@pytest.fixture
def lake(shop, parquet_folders):  # noqa: F811
    shop.write("models/lake.yml", LAKE)
    shop.model("large", LARGE)
    return shop


def write_file(shop, name, *rows, folder="orders"):
    folder = shop.root / f"lake/{folder}"
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([dict(zip(("id", "customer", "amount"), row, strict=True)) for row in rows])
    pq.write_table(table, shop.root / f"{name}.parquet")
    (shop.root / f"{name}.parquet").rename(folder / f"{name}.parquet")


def totals(shop):
    return {row["customer"]: (row["orders"], row["total"]) for row in table_rows(shop.root, "model.totals")}


def lag(shop):
    job = job_of(shop.root)
    checkpoints = checkpoints_of(job.project.target, shop.root)
    all_lags = topic_lags(
        admin_of(Cluster(shop.bootstrap, embedded=True)), job.project, job.physical.queries, checkpoints
    )
    return {(lag.query, lag.topic): (lag.records, lag.unit, lag.is_read) for lag in all_lags}


def test_a_build_reads_new_files_and_a_full_refresh_all(lake, first_spark):
    write_file(lake, "one", (1, "ann", 2.5), (2, "bob", 4.0))
    (query,) = job_of(lake.root).physical.queries
    assert lag(lake) == {(query.name, "lake.orders"): (1, "files", False)}
    results, events = built(lake.root, first_spark)
    assert errors(events) == []
    assert [value["id"] for value in lake.values("large")] == [2]
    assert [result.rows_read for result in results.results] == [2]
    assert lag(lake) == {(query.name, "lake.orders"): (0, "files", True)}
    # A build that has nothing to do needs no Spark.
    assert results_if_up_to_date(job_of(lake.root), lake.root / ".millstream") is not None
    write_file(lake, "two", (3, "ann", 5.0))
    assert results_if_up_to_date(job_of(lake.root), lake.root / ".millstream") is None
    assert lag(lake) == {(query.name, "lake.orders"): (1, "files", True)}
    results, _ = built(lake.root, first_spark)
    assert [value["id"] for value in lake.values("large")] == [2, 3]
    assert [result.rows_read for result in results.results] == [1]
    # What joins a query gets what that has read, from the files themselves.
    lake.model("small", LARGE.replace(">", "<"))
    _, events = built(lake.root, first_spark)
    assert [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)] == []
    steps = [event for event in events if isinstance(event, SetupStep) and "backfill" in event.name]
    assert [step.message for step in steps if step.done] == [f"2 files that {query.name} had read before"]
    assert [value["id"] for value in lake.values("small")] == [1]
    assert [value["id"] for value in lake.values("large")] == [2, 3]
    built(lake.root, first_spark, intent=FullRefresh())
    assert sorted(value["id"] for value in lake.values("large")) == [2, 2, 3, 3]


@pytest.mark.long
def test_tables_are_rebuilt_from_all_files(lake, first_spark):
    lake.model("totals", TOTALS)
    lake.model("latest", LATEST)
    write_file(lake, "one", (1, "ann", 2.5), (2, "bob", 4.0))
    built(lake.root, first_spark)
    assert totals(lake) == {"ann": (1, 5.0), "bob": (1, 8.0)}
    assert {row["file"] for row in table_rows(lake.root, "model.latest")} == {"one.parquet"}
    write_file(lake, "two", (3, "ann", 1.0))
    lake.model("totals", TOTALS.replace("sum(doubled)", "max(doubled)"))
    results, events = built(
        lake.root, first_spark, intent=Apply({NodeId("model", "totals"): ("customer", "orders")})
    )
    assert set(statuses(results).values()) == {"success"}
    assert totals(lake) == {"ann": (2, 5.0), "bob": (1, 8.0)}
    assert ["can end where" in event.less for event in events if isinstance(event, TableCompared)] == [True]
    assert len(table_rows(lake.root, "model.latest")) == 3


def test_a_model_is_computed_over_the_files(lake, first_spark):
    lake.model("latest", LATEST)
    write_file(lake, "one", (1, "ann", 2.5), (2, "bob", 4.0))
    job, admin = job_of(lake.root), admin_of(Cluster(lake.bootstrap, embedded=True))
    catalog = with_ancestors(job.catalog, frozenset((NodeId("model", "latest"),)))
    answer = compute_rows(
        SampleRequest(job.project, catalog, NodeId("model", "latest"), 10, 100, "spark.log"),
        admin,
        first_spark,
    )
    assert sorted(answer.rows) == [(1, 2.5, "one.parquet"), (2, 4.0, "one.parquet")]
    rows = source_rows(
        SampleRequest(job.project, job.catalog, NodeId("source", "lake.orders"), 1, 100, "spark.log"),
        first_spark,
    )
    assert (rows.columns, rows.more) == (("id", "customer", "amount"), True)


@pytest.mark.long
def test_a_query_that_reads_two_folders_and_a_rate(lake, first_spark):
    """Spark's log does not name them, and those of files look alike."""
    other = LAKE.replace("name: lake", "name: pond").replace("lake/orders", "lake/others")
    lake.write("models/others.yml", other)
    lake.write("models/demo.yml", "sources: [{name: demo, rates: [{name: ticks}]}]")
    lake.model("both", """
        {{ config(materialized='sink') }}
        select id, 'others' as name from {{ source('pond', 'orders') }}
        union all select value, 'ticks' from {{ source('demo', 'ticks') }}
        union all select id, 'orders' from {{ source('lake', 'orders') }}
    """)  # fmt: skip
    (lake.root / "models/large.sql").unlink()
    write_file(lake, "one", (1, "ann", 2.5))
    for name in ("two", "three"):
        write_file(lake, name, (2, "ann", 2.5), folder="others")
    _, events = built(lake.root, first_spark)
    assert errors(events) == []
    assert {
        source: amount for (_, source), (amount, _, _) in lag(lake).items() if source != "demo.ticks"
    } == {
        "lake.orders": 0,
        "pond.orders": 0,
    }
    write_file(lake, "four", (4, "ann", 2.5), folder="others")
    amounts = {source: amount for (_, source), (amount, _, _) in lag(lake).items()}
    assert (amounts["lake.orders"], amounts["pond.orders"]) == (0, 1)
    _, events = built(lake.root, first_spark)
    assert errors(events) == []
    names = [value["name"] for value in lake.values("both")]
    assert (names.count("orders"), names.count("others")) == (1, 3)
    assert names.count("ticks") > 0
