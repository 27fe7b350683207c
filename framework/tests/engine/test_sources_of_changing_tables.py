"""Tables whose rows change, as sources: models over them equal what DuckDB computes over the table.

`MILLSTREAM_TABLE_ROUNDS=50 uv run pytest -m long framework/tests/engine/test_sources_of_changing_tables.py` is a longer run.
"""

import itertools
import os
import random

import duckdb
import pytest
from support.changing_tables import LAKE, DeltaCustomers, IcebergCustomers
from support.delta_tables import failure, good_build
from support.iceberg_tables import profiles
from support.running import running
from support.runs import job_of, table_rows
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh
from millstream.runner.commands.up_to_date import results_if_up_to_date

pytestmark = SPARK_WARNINGS

CUSTOMERS = "{{ source('lake', 'customers') }}"
MODELS = {
    "good_customers": "{{ config(materialized='table', unique_key='id') }}\n"
    f"select id, city, score from {CUSTOMERS} where score > 1",
    "cities": "{{ config(materialized='table', unique_key='city') }}\n"
    f"select city, count(*) as customers, max(score) as best from {CUSTOMERS} group by city",
    "placed": "{{ config(materialized='table', unique_key='order_id') }}\n"
    "select order_id, customer_id, city from {{ source('lake', 'orders') }} as o\n"
    f"join {CUSTOMERS} as c on o.customer_id = c.id",
}
CITIES = ["bern", "rom", "oslo"]
ROUNDS = int(os.environ.get("MILLSTREAM_TABLE_ROUNDS", "6"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
EXPECTED = {
    "good_customers": "select id, city, score from customers where score > 1",
    "cities": "select city, count(*), max(score) from customers group by city",
}


@pytest.fixture(params=[DeltaCustomers, pytest.param(IcebergCustomers, marks=pytest.mark.long)])
def customers(request, shop):
    shop.write("profiles.yml", profiles(shop))
    customers = request.param(shop)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    customers.append((1, "bern", 1), (2, "bern", 2), (3, "rom", 3))
    customers.add_orders((1, 3))
    return customers


def check(shop, customers):
    customers = customers.rows()
    for model, sql in EXPECTED.items():
        stored = sorted(tuple(row.values()) for row in table_rows(shop.root, f"model.{model}"))
        assert (model, stored) == (model, sorted(duckdb.sql(sql).fetchall()))


def placed(shop):
    return {row["order_id"]: row["city"] for row in table_rows(shop.root, "model.placed")}


@pytest.mark.long
def test_models_follow_the_changes(shop, customers, first_spark):
    good_build(shop, first_spark)
    check(shop, customers)
    assert placed(shop) == {1: "rom"}
    assert results_if_up_to_date(job_of(shop.root), shop.root / ".millstream") is not None
    # Several versions of a row in one batch, and rows that come, go and come back.
    customers.merge((1, "rom", 5), (4, "oslo", 2))
    customers.merge((1, "oslo", 7))
    customers.delete("id = 3")
    customers.merge((4, "bern", 9))
    customers.delete("id = 4")
    customers.append((3, "bern", 8), (5, "rom", 1))
    customers.update("city = 'bern'", "score", "score + 1")
    customers.update("id = 2", "id", "7")
    customers.arrange()
    good_build(shop, first_spark)
    check(shop, customers)
    assert results_if_up_to_date(job_of(shop.root), shop.root / ".millstream") is not None
    customers.delete("city = 'bern'")
    customers.add_column()
    customers.merge((8, "oslo", 3))
    customers.add_orders((2, 1))
    good_build(shop, first_spark)
    check(shop, customers)
    assert placed(shop) == {1: "rom", 2: "oslo"}
    good_build(shop, first_spark, intent=FullRefresh())
    check(shop, customers)


@pytest.mark.long
@pytest.mark.parametrize("customers", [IcebergCustomers], indirect=True)
def test_the_changes_since_a_snapshot_that_is_gone_are_unknown(shop, customers, first_spark):
    good_build(shop, first_spark)
    customers.delete("id = 1")
    customers.expire()
    diagnostic = failure(shop, first_spark)
    assert (diagnostic.code, diagnostic.location.path) == ("MS645", "models/lake.yml")
    assert "no longer has all snapshots since" in diagnostic.message
    good_build(shop, first_spark, intent=FullRefresh())
    check(shop, customers)


@pytest.mark.long
def test_a_run_follows_the_changes(shop, customers, first_spark):
    good_build(shop, first_spark)
    with running(shop.root, first_spark) as run:
        customers.merge((1, "rom", 5), (4, "oslo", 2))
        run.until(lambda: len(table_rows(shop.root, "model.cities")) == 3)
        customers.delete("city = 'oslo'")
        run.until(lambda: len(table_rows(shop.root, "model.cities")) == 2)
    check(shop, customers)


@pytest.mark.long
def test_models_equal_duckdb_after_random_changes(shop, customers, first_spark):
    dice, new = random.Random(SEED), itertools.count(10)

    def random_row(id_):
        return id_, dice.choice(CITIES), dice.randrange(9)

    def change():
        ids = customers.rows()["id"].to_pylist()
        some = dice.sample(ids, min(len(ids), dice.randrange(1, 4)))
        match dice.randrange(7):
            case 0:
                customers.append(*(random_row(next(new)) for _ in range(dice.randrange(1, 4))))
            case 1 if some:
                customers.delete(f"id in ({', '.join(map(str, some))})")
            case 2 if some:
                customers.update(f"id = {some[0]}", "id", str(next(new)))
            case 3:
                customers.update(f"city = '{dice.choice(CITIES)}'", "score", "score + 1")
            case 4:
                customers.arrange()
            case 5 if ids:
                customers.overwrite()
            case _:
                customers.merge(*map(random_row, {*some, next(new)}))

    for _ in range(ROUNDS):
        for _ in range(dice.randrange(1, 8)):
            change()
        good_build(shop, first_spark)
        check(shop, customers)


@pytest.mark.long
def test_rows_that_spark_marks_as_deleted(shop, first_spark):
    """Spark deletes rows of large files by deletion vectors."""
    shop.model("good_customers", MODELS["good_customers"])
    path = shop.root / "lake/marked"
    first_spark.sql(
        f"create table delta.`{path}` (id bigint, city string, score bigint) using delta tblproperties "
        "('delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true', "
        "'delta.columnMapping.mode' = 'name')"
    )
    first_spark.range(10).selectExpr("id", "'bern' as city", "2L as score").coalesce(1).write.format(
        "delta"
    ).mode("append").save(str(path))
    first_spark.sql(f"delete from delta.`{path}` where id < 3")
    shop.write("models/lake.yml", LAKE.replace("lake/customers", "lake/marked"))
    good_build(shop, first_spark)
    assert sorted(row["id"] for row in table_rows(shop.root, "model.good_customers")) == [*range(3, 10)]
    first_spark.sql(f"delete from delta.`{path}` where id = 5")
    first_spark.sql(f"update delta.`{path}` set score = 0 where id = 6")
    good_build(shop, first_spark)
    assert sorted(row["id"] for row in table_rows(shop.root, "model.good_customers")) == [3, 4, 7, 8, 9]
