"""Everything that works for topics works for every kind of source; `support/source_matrix.py` has the kinds."""

import json

import pytest
from click.testing import CliRunner
from deltalake.exceptions import TableNotFoundError
from engine.test_apply import went_back
from engine.test_handover import applied
from support.delta_tables import good_build
from support.iceberg_tables import PROFILES, catalogs
from support.kinds import parquet_folders  # noqa: F401 - a fixture
from support.running import running
from support.runs import built, errors, job_of, table_rows
from support.source_matrix import ORDERS, SOURCES
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.matched_topics import match_job
from millstream.deploy.planning.intents import Apply, FullRefresh
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.ops.lag import topic_lags
from millstream.project.folders import checkpoints_of
from millstream.testing.session import TestSession

pytestmark = SPARK_WARNINGS

MODELS = {
    "orders": "{{ config(materialized='table', unique_key='id') }}\n"
    f"select id, customer, doubled from {ORDERS}",
    "totals": "{{ config(materialized='table', unique_key='customer', unbounded_state='accept') }}\n"
    f"select customer, count(*) as orders, sum(doubled) as total from {ORDERS} group by customer",
}
UNIT = """
    unit_tests:
      - name: doubled
        model: orders
        given: [{input: source.lake.orders, rows: [ROW]}]
        expect: [{id: 4, customer: customer1, doubled: 8}]
"""
FIRST = [(1, "ann", 2.5), (2, "bob", 4.0)]
SECOND = [(3, "ann", 1.0), (4, "eve", 7.0)]
THIRD = [(5, "bob", 0.5)]
EDITED = Apply({NodeId("model", "totals"): ("customer", "orders")})


@pytest.fixture
def lake(shop, kind, parquet_folders):  # noqa: F811
    shop.write("profiles.yml", PROFILES.format(catalogs(shop.root)))
    kind.declare(shop)
    kind.prepare(shop)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    shop.written = []
    return shop


def edit_totals(shop):
    shop.model("totals", MODELS["totals"].replace("sum(doubled)", "max(doubled)"))


def write(shop, kind, rows):
    kind.write(shop, *rows)
    shop.written += rows


def command(shop, *arguments):
    result = CliRunner().invoke(millstream, [*arguments, "--project-dir", str(shop.root)])
    assert result.exit_code == 0, result.output
    return result.stdout


def orders_of(shop):
    return {row["id"]: (row["customer"], row["doubled"]) for row in stored(shop, "orders")}


def totals_of(shop, environment=None):
    rows = stored(shop, "totals", environment)
    return {row["customer"]: (row["orders"], row["total"]) for row in rows}


def stored(shop, model, environment=None):
    """Return the rows of a table; none if a run has not created it yet."""
    try:
        return table_rows(shop.root, f"model.{model}", environment=environment)
    except TableNotFoundError:
        return []


def has_all(shop, kind, combine=sum, least=0):
    """Whether both models have the rows that were written; of a rate, as many as each has read."""
    orders = orders_of(shop)
    expected = kind.expected(shop.written, len(orders))
    return (
        len(expected) >= least
        and orders == {id_: (customer, 2 * amount) for id_, customer, amount in expected}
        and has_totals(shop, kind, combine)
    )


def has_totals(shop, kind, combine, environment=None):
    totals = totals_of(shop, environment)
    counted = kind.expected(shop.written, sum(count for count, _ in totals.values()))
    return totals == expected_totals(counted, combine)


def expected_totals(rows, combine):
    by_customer = {}
    for _, customer, amount in rows:
        by_customer.setdefault(customer, []).append(2 * amount)
    return {customer: (len(amounts), combine(amounts)) for customer, amounts in by_customer.items()}


def check(shop, kind, combine=sum):
    assert has_all(shop, kind, combine), (shop.written, orders_of(shop), totals_of(shop))


def test_each_cell_is_run_or_has_a_reason():
    from crash import test_sources_read_by_killed_runs  # noqa: F401 - kill -9

    SOURCES.check()


@SOURCES.cell("compile")
def test_compile(lake, kind):
    command(lake, "compile")
    node = json.loads((lake.root / "target/manifest.json").read_text())["nodes"]["source.lake.orders"]
    assert {"id", "customer", "doubled"} <= {column["name"] for column in node["columns"]}
    assert "source:shop.lake.orders" in command(lake, "ls").splitlines()


@SOURCES.cell("explain")
def test_explain(lake, kind):
    assert kind.explained in command(lake, "explain", "orders")


@SOURCES.cell("lineage")
def test_lineage(lake, kind):
    assert "source.lake.orders.doubled" in command(lake, "lineage", "totals.total")


@SOURCES.cell("unit test")
def test_a_unit_test(lake, kind, first_spark):
    row = "{value: 4}" if kind.key == "rates" else "{id: 4, customer: customer1, amount: 4}"
    lake.write("tests/units.yml", UNIT.replace("ROW", row))
    session = TestSession(lake.root)
    try:
        verdicts = [session.judge(unit) for unit in session.main.project.unit_tests]
    finally:
        session.close()
    assert [verdict.diagnostics for verdict in verdicts] == [()], [v.lines for v in verdicts]


@SOURCES.cell(
    "build",
    long=(
        "lines",
        "parquet",
        "delta",
        "topic",
        "several_topics",
        "pattern",
        "history",
        "delta_by_key",
        "iceberg_by_key",
    ),
)
def test_builds_go_on(lake, kind, first_spark):
    write(lake, kind, FIRST)
    good_build(lake, first_spark)
    write(lake, kind, SECOND)
    good_build(lake, first_spark)
    assert has_all(lake, kind, least=3), (lake.written, orders_of(lake), totals_of(lake))


@pytest.mark.long
@SOURCES.cell("rebuild")
def test_a_rebuild_reads_everything(lake, kind, first_spark):
    write(lake, kind, FIRST)
    good_build(lake, first_spark)
    write(lake, kind, SECOND)
    edit_totals(lake)
    good_build(lake, first_spark, intent=EDITED if kind.replayable else Apply())
    check(lake, kind, max)
    good_build(lake, first_spark, intent=FullRefresh())
    write(lake, kind, THIRD)
    good_build(lake, first_spark)
    check(lake, kind, max)


@pytest.mark.long
@SOURCES.cell("rollback")
def test_a_rollback(lake, kind, first_spark):
    write(lake, kind, FIRST)
    good_build(lake, first_spark)
    edit_totals(lake)
    good_build(lake, first_spark, intent=EDITED if kind.replayable else Apply())
    write(lake, kind, SECOND)
    good_build(lake, first_spark)
    check(lake, kind, max)
    lake.model("totals", MODELS["totals"])
    if kind.keyed:
        # A table over a table is not replaced: the older version computes its rows again.
        with pytest.raises(MillstreamError, match="MS887"):
            went_back(lake, first_spark)
    else:
        went_back(lake, first_spark)
    good_build(lake, first_spark)
    check(lake, kind)


@pytest.mark.long
@SOURCES.cell("run")
def test_a_run_reads_rows_as_they_come(lake, kind, first_spark):
    write(lake, kind, FIRST)
    with running(lake.root, first_spark) as run:
        run.until(lambda: has_all(lake, kind, least=2))
        for rows in (SECOND, THIRD):
            write(lake, kind, rows)
            run.until(lambda: has_all(lake, kind, least=len(lake.written)))


@pytest.mark.long
@SOURCES.cell("apply while running")
def test_an_apply_while_it_runs(lake, kind, first_spark):
    write(lake, kind, FIRST)
    with running(lake.root, first_spark) as run:
        run.until(lambda: has_all(lake, kind, least=2))
        edit_totals(lake)
        applied(lake, EDITED if kind.replayable else Apply())
        write(lake, kind, SECOND)
        run.until(lambda: has_all(lake, kind, max, least=3))
        lake.model("totals", MODELS["totals"])
        applied(lake, Apply() if kind.keyed else None)
        write(lake, kind, THIRD)
        run.until(lambda: has_all(lake, kind, least=5))


@pytest.mark.long
@SOURCES.cell("environment")
def test_an_environment_reads_the_same_rows(lake, kind, first_spark):
    for rows in (FIRST, SECOND):
        write(lake, kind, rows)
        lake.model("totals", MODELS["totals"])
        good_build(lake, first_spark)
        edit_totals(lake)
        good_build(lake, first_spark, environment="alice")
        assert has_totals(lake, kind, max, "alice"), totals_of(lake, "alice")
        check(lake, kind)


def lags(shop):
    admin = admin_of(Cluster(shop.bootstrap, embedded=True))
    job = match_job(job_of(shop.root), admin)
    checkpoints = checkpoints_of(job.project.target, shop.root)
    return topic_lags(admin, job.project, job.physical.queries, checkpoints)


@pytest.mark.long
@SOURCES.cell("lag")
def test_lag(lake, kind, first_spark):
    write(lake, kind, FIRST)
    good_build(lake, first_spark)
    read = lags(lake)
    assert {lag.unit for lag in read} == {kind.unit}
    if kind.replayable:
        assert {lag.records for lag in read} == {0}
    write(lake, kind, SECOND)
    assert sum(lag.records for lag in lags(lake)) > 0
    good_build(lake, first_spark)
    if kind.replayable:
        assert {lag.records for lag in lags(lake)} == {0}


@pytest.mark.long
@SOURCES.cell("bad records")
def test_bad_records(lake, kind, first_spark):
    kind.declare(lake, "on_bad_record: skip")
    write(lake, kind, FIRST)
    kind.write_bad(lake)
    results, events = built(lake.root, first_spark)
    assert errors(events) == []
    check(lake, kind)
    assert {count for result in results.results for count in result.skipped.values()} == {1}
