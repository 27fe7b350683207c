"""Whatever works for tables works in every store: by key, append-only, and over other tables.

Tables in Iceberg are in folders, or in a REST catalog.

Runs that are killed are in `crash/test_crash.py` and `crash/test_appends_killed.py`, also for each store.
"""

import json

import duckdb
import pytest
from engine.test_apply import went_back
from engine.test_handover import applied
from engine.test_source_matrix import command
from support.databases import of_mysql, of_postgres
from support.delta_tables import good_build
from support.matrix import Matrix
from support.postgres import PASSWORD
from support.running import running
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, Update
from millstream.stores.registry import STORES

pytestmark = SPARK_WARNINGS

PROFILES = """
    shop:
      target: local
      outputs:
        local:
          master: "local[2]"
          kafka: embedded
          spark: {{spark.sql.shuffle.partitions: 1}}
          tables: {tables}
"""
EVENTS = "{{ source('web', 'events') }}"
RAW = f"{{{{ config(materialized='table') }}}} select id, user as customer, value from {EVENTS}"
TOTALS = f"select user as customer, sum(value) as total from {EVENTS} group by user"
BY_KEY = {
    "totals": "{{ config(materialized='table', unique_key='customer', unbounded_state='accept') }} " + TOTALS,
    # Tables are computed over those of stores that keep versions.
    "in_delta": "{{ config(materialized='table', unique_key='customer', store='delta', unbounded_state='accept') }} "
    + TOTALS,
    "customers": "{{ config(materialized='table', unique_key='total') }} "
    "select total, count(*) as customers from {{ ref('in_delta') }} group by total",
}
OVER_RAW = {
    "counted": "{{ config(materialized='table', unique_key='customer', refresh='incremental') }} "
    "select customer, count(*) as n, sum(cast(value as int)) as total from {{ ref('raw') }} group by customer",
    # A stream can't run it, so it reads what is stored.
    "places": "{{ config(materialized='table', unique_key='id') }} "
    "select id, row_number() over (partition by customer order by id) as place from {{ ref('raw') }}",
    "largest": "{{ config(materialized='table', unique_key='id', refresh='full') }} "
    "select id, value from {{ ref('raw') }} order by value desc, id limit 2",
}
COMBINED = {"sum": sum, "max": max}


def in_database(fixture, of):
    """Return a function that returns `tables:` of a profile; the password is in the environment."""

    def tables(request):
        request.getfixturevalue("monkeypatch").setenv("DATABASE_PASSWORD", PASSWORD)
        return of(request.getfixturevalue(fixture)).mapping()

    return tables


def in_catalog(request):
    """Return `tables:` of a profile, and the catalog that it names."""
    catalog = request.getfixturevalue("catalog")
    return catalog.settings(catalog.new_namespace(), "store: iceberg, ", after="\n          ")


MATRIX = Matrix(
    {
        "delta": lambda _: "{store: delta}",
        "iceberg": lambda _: "{store: iceberg, iceberg_path: lake}",
        "catalog": in_catalog,
        "parquet": lambda _: "{store: parquet, parquet_path: lake}",
        "postgres": in_database("postgres", of_postgres),
        "mysql": in_database("mariadb", of_mysql),
    },
    (
        "compile",
        "explain",
        "lineage",
        "build",
        "batch again",
        "run",
        "rebuild",
        "apply while running",
        "rollback",
        "environment",
        "show",
    ),
    {},
)


class Lake:
    """A shop whose tables are in one store, and the events that it got."""

    def __init__(self, shop, tables):
        self.shop, self.root, self.sent = shop, shop.root, []
        self.appends_only = "parquet" in tables
        self.has_versions = "store: delta" in tables or "store: iceberg" in tables
        shop.write("profiles.yml", PROFILES.format(tables=tables))
        shop.model("raw", RAW)
        for name, sql in OVER_RAW.items() if self.has_versions else ():
            shop.model(name, sql)
        self.combine_by("sum")

    def combine_by(self, function):
        for name, sql in {} if self.appends_only else BY_KEY.items():
            combined = sql.replace("sum(", f"{function}(")
            if self.has_versions:
                combined = combined.replace("ref('in_delta')", "ref('totals')")
            self.shop.model(name, combined)

    def double(self):
        """Change what the append-only table has."""
        self.shop.model("raw", RAW.replace("value from", "2 * value as value from"))

    def send(self, *rows):
        self.shop.send(*(event(number, user, value) for number, user, value in rows))
        self.sent += rows

    def query(self, sql, *options):
        answer = json.loads(command(self.shop, "query", sql, "--output", "json", *options))
        return [tuple(row.values()) for row in answer["rows"]]

    def raw(self, *options):
        return self.query("select id, customer, value from raw order by id", *options)

    def totals(self, *options):
        return dict(self.query("select customer, total from totals", *options))

    def expected_totals(self, function):
        by_customer = {}
        for _, customer, value in self.sent:
            by_customer.setdefault(customer, []).append(value)
        return {customer: COMBINED[function](values) for customer, values in by_customer.items()}

    def has_all(self, function="sum", factor=1, *options):
        if self.raw(*options) != [(id_, customer, factor * value) for id_, customer, value in self.sent]:
            return False
        if self.appends_only:
            return True
        totals = self.expected_totals(function)
        customers = {total: [*totals.values()].count(total) for total in totals.values()}
        over_table = dict(self.query("select total, customers from customers", *options))
        if (self.totals(*options), over_table) != (totals, customers):
            return False
        return not self.has_versions or self.has_all_over_raw(factor, *options)

    def has_all_over_raw(self, factor, *options):
        """Return whether the tables over the append-only one have what DuckDB computes of its rows."""
        with duckdb.connect() as oracle:
            oracle.execute("create table raw (id int, customer text, value double)")
            oracle.executemany(
                "insert into raw values (?, ?, ?)", [(i, c, v * factor) for i, c, v in self.sent]
            )
            return all(
                sorted(self.query(f"select * from {name}", *options))
                == sorted(
                    oracle.execute(sql.partition("}}")[2].replace("{{ ref('raw') }}", "raw")).fetchall()
                )
                for name, sql in OVER_RAW.items()
            )


FIRST = [(1, "ann", 2.0), (2, "bob", 4.0)]
SECOND = [(3, "ann", 2.0), (4, "eve", 7.0)]
THIRD = [(5, "bob", 1.0)]


@pytest.fixture
def lake(shop, kind, request):
    return Lake(shop, kind(request))


def test_each_cell_is_run_for_each_store():
    MATRIX.check()
    assert set(MATRIX.kinds) == {*STORES, "catalog"}


@MATRIX.cell("compile")
def test_compile(lake):
    command(lake.shop, "compile")
    nodes = json.loads((lake.root / "target/manifest.json").read_text())["nodes"]
    assert [column["name"] for column in nodes["model.raw"]["columns"]] == ["id", "customer", "value"]


@MATRIX.cell("explain")
def test_explain(lake):
    assert "raw" in command(lake.shop, "explain", "raw")


@MATRIX.cell("lineage")
def test_lineage(lake):
    assert "source.web.events.value" in command(lake.shop, "lineage", "raw.value")


@pytest.mark.long
@MATRIX.cell("build")
def test_builds_go_on(lake, first_spark):
    for rows in (FIRST, SECOND, THIRD):
        lake.send(*rows)
        good_build(lake.shop, first_spark)
        assert lake.has_all()


@pytest.mark.long
@MATRIX.cell("batch again")
def test_a_batch_that_was_stored_and_is_run_again_changes_nothing(lake, first_spark):
    lake.send(*FIRST)
    good_build(lake.shop, first_spark)
    lake.send(*SECOND)
    good_build(lake.shop, first_spark)
    for commits in (lake.root / ".millstream").glob("*/checkpoints/*/spark/commits"):
        (commits / "1").unlink()  # as if it had been killed before it wrote that
        (commits / ".1.crc").unlink(missing_ok=True)
    lake.send(*THIRD)
    good_build(lake.shop, first_spark)
    assert lake.has_all()


@pytest.mark.long
@MATRIX.cell("run")
def test_a_run_stores_rows_as_they_come(lake, first_spark):
    lake.send(*FIRST)
    good_build(lake.shop, first_spark)
    with running(lake.root, first_spark) as run:
        for rows in (SECOND, THIRD):
            lake.send(*rows)
            run.until(lake.has_all)


@pytest.mark.long
@MATRIX.cell("rebuild")
def test_a_rebuild_computes_all_rows_again(lake, first_spark):
    lake.send(*FIRST)
    good_build(lake.shop, first_spark)
    lake.send(*SECOND)
    lake.combine_by("max")
    lake.double()
    models = frozenset(NodeId("model", name) for name in ("raw", *(() if lake.appends_only else BY_KEY)))
    good_build(lake.shop, first_spark, intent=Update(models))
    assert lake.has_all("max", 2)


@pytest.mark.long
@MATRIX.cell("rollback")
def test_a_rollback(lake, first_spark):
    lake.send(*FIRST)
    good_build(lake.shop, first_spark)
    lake.combine_by("max")
    lake.shop.model("raw", RAW.replace("id,", "id + 0 as id,"))
    good_build(lake.shop, first_spark, intent=Apply({}))
    lake.send(*SECOND)
    good_build(lake.shop, first_spark)
    assert lake.has_all("max")
    lake.combine_by("sum")
    lake.shop.model("raw", RAW)
    went_back(lake.shop, first_spark)
    lake.send(*THIRD)
    good_build(lake.shop, first_spark)
    assert lake.has_all()


@pytest.mark.long
@MATRIX.cell("apply while running")
def test_an_apply_while_it_runs(lake, first_spark):
    lake.send(*FIRST)
    good_build(lake.shop, first_spark)
    with running(lake.root, first_spark) as run:
        lake.send(*SECOND)
        run.until(lake.has_all)
        lake.combine_by("max")
        applied(lake.shop, Apply({}))
        lake.send(*THIRD)
        run.until(lambda: lake.has_all("max"))


@pytest.mark.long
@MATRIX.cell("environment")
def test_an_environment_has_tables_of_its_own(lake, first_spark):
    for rows in (FIRST, SECOND):
        lake.send(*rows)
        lake.combine_by("sum")
        lake.shop.model("raw", RAW)
        good_build(lake.shop, first_spark)
        lake.combine_by("max")
        lake.double()
        good_build(lake.shop, first_spark, environment="alice")
        assert lake.has_all("max", 2, "-e", "alice")
        assert lake.has_all()


@pytest.mark.long
@MATRIX.cell("show")
def test_show(lake, first_spark):
    lake.send(*FIRST)
    good_build(lake.shop, first_spark)
    rows = json.loads(command(lake.shop, "show", "raw", "--output", "json"))["rows"]
    assert sorted((row["id"], row["customer"], row["value"]) for row in rows) == FIRST
