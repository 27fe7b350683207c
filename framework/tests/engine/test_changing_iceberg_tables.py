"""Iceberg tables whose rows change, as sources: models over them equal what DuckDB computes over the table.

`MILLSTREAM_TABLE_ROUNDS=50 uv run pytest -m long framework/tests/engine/test_changing_iceberg_tables.py` is a longer run.
"""

import itertools
import os
import random

import duckdb
import pyarrow as pa
import pytest
from engine.test_changing_delta_tables import CITIES, EXPECTED, LAKE, MODELS, placed
from pyiceberg.expressions import EqualTo
from pyiceberg.types import StringType
from support.delta_tables import failure, good_build
from support.iceberg_tables import create, loaded, profiles, rows_of
from support.running import running
from support.runs import job_of, table_rows
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh
from millstream.runner.commands.up_to_date import results_if_up_to_date

pytestmark = SPARK_WARNINGS

ROUNDS = int(os.environ.get("MILLSTREAM_TABLE_ROUNDS", "6"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
OF_CUSTOMERS = pa.schema([("id", pa.int64()), ("city", pa.string()), ("score", pa.int64())])
OF_ORDERS = pa.schema([("order_id", pa.int64()), ("customer_id", pa.int64())])


@pytest.fixture
def lake(shop):
    shop.write("profiles.yml", profiles(shop))
    declared = LAKE.replace("delta_tables", "iceberg_tables")
    for name in ("customers", "orders"):
        declared = declared.replace(f"path: lake/{name}", f"catalog: lake\n        table: shop.{name}")
    shop.write("models/lake.yml", declared)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    create(shop, "customers", OF_CUSTOMERS).append(
        rows_of(OF_CUSTOMERS, (1, "bern", 1), (2, "bern", 2), (3, "rom", 3))
    )
    create(shop, "orders", OF_ORDERS).append(rows_of(OF_ORDERS, (1, 3)))
    return shop


def customers(shop):
    return loaded(shop, "customers")


def merge(shop, *rows):
    customers(shop).upsert(rows_of(OF_CUSTOMERS, *rows), join_cols=["id"])


def update(shop, where, change):
    """Write the rows of a condition again, changed."""
    rows = customers(shop).scan(row_filter=where).to_arrow().select(OF_CUSTOMERS.names).to_pylist()
    if rows:
        changed = [tuple((row | change(row)).values()) for row in rows]
        customers(shop).overwrite(rows_of(OF_CUSTOMERS, *changed), overwrite_filter=where)


def check(shop):
    customers = loaded(shop, "customers").scan().to_arrow()  # noqa: F841 - DuckDB finds it
    for model, sql in EXPECTED.items():
        stored = sorted(tuple(row.values()) for row in table_rows(shop.root, f"model.{model}"))
        assert (model, stored) == (model, sorted(duckdb.sql(sql).fetchall()))


@pytest.mark.long
def test_models_follow_the_changes(lake, first_spark):
    good_build(lake, first_spark)
    check(lake)
    assert placed(lake) == {1: "rom"}
    assert results_if_up_to_date(job_of(lake.root), lake.root / ".millstream") is not None
    # Several versions of a row in one batch, and rows that come, go and come back.
    merge(lake, (1, "rom", 5), (4, "oslo", 2))
    customers(lake).delete("id = 3")
    merge(lake, (4, "bern", 9))
    customers(lake).delete("id = 4")
    customers(lake).append(rows_of(OF_CUSTOMERS, (3, "bern", 8), (5, "rom", 1)))
    update(lake, "city = 'bern'", lambda row: {"score": row["score"] + 1})
    update(lake, "id = 2", lambda _: {"id": 7})
    good_build(lake, first_spark)
    check(lake)
    assert results_if_up_to_date(job_of(lake.root), lake.root / ".millstream") is not None
    customers(lake).delete("city = 'bern'")
    with customers(lake).update_schema() as change:
        change.add_column("note", StringType())
    merge(lake, (8, "oslo", 3))
    loaded(lake, "orders").append(rows_of(OF_ORDERS, (2, 1)))
    good_build(lake, first_spark)
    check(lake)
    assert placed(lake) == {1: "rom", 2: "rom"}
    # The changes since a snapshot that is gone are unknown.
    customers(lake).delete("id = 8")
    with customers(lake).maintenance.expire_snapshots() as expiring:
        for snapshot in customers(lake).snapshots()[:-1]:
            expiring.by_id(snapshot.snapshot_id)
    diagnostic = failure(lake, first_spark)
    assert (diagnostic.code, diagnostic.location.path) == ("MS645", "models/lake.yml")
    assert "no longer has all snapshots since" in diagnostic.message
    good_build(lake, first_spark, intent=FullRefresh())
    check(lake)


@pytest.mark.long
def test_a_run_follows_the_changes(lake, first_spark):
    good_build(lake, first_spark)
    with running(lake.root, first_spark) as run:
        merge(lake, (1, "rom", 5), (4, "oslo", 2))
        run.until(lambda: len(table_rows(lake.root, "model.cities")) == 3)
        customers(lake).delete("city = 'oslo'")
        run.until(lambda: len(table_rows(lake.root, "model.cities")) == 2)
    check(lake)


@pytest.mark.long
def test_models_equal_duckdb_after_random_changes(lake, first_spark):
    dice, new = random.Random(SEED), itertools.count(10)

    def random_row(id_):
        return id_, dice.choice(CITIES), dice.randrange(9)

    def change():
        ids = customers(lake).scan().to_arrow()["id"].to_pylist()
        some = dice.sample(ids, min(len(ids), dice.randrange(1, 4)))
        match dice.randrange(6):
            case 0:
                rows = [random_row(next(new)) for _ in range(dice.randrange(1, 4))]
                customers(lake).append(rows_of(OF_CUSTOMERS, *rows))
            case 1 if some:
                customers(lake).delete(EqualTo("id", some[0]))
            case 2 if some:
                update(lake, EqualTo("id", some[0]), lambda _: {"id": next(new)})
            case 3:
                city = dice.choice(CITIES)
                update(lake, EqualTo("city", city), lambda row: {"score": row["score"] + 1})
            case 4 if ids:
                customers(lake).overwrite(customers(lake).scan().to_arrow())
            case _:
                merge(lake, *map(random_row, {*some, next(new)}))

    for _ in range(ROUNDS):
        for _ in range(dice.randrange(1, 8)):
            change()
        good_build(lake, first_spark)
        check(lake)
