"""Delta tables whose rows change, as sources: models over them equal what DuckDB computes over the table.

`MILLSTREAM_TABLE_ROUNDS=50 uv run pytest -m long framework/tests/engine/test_changing_delta_tables.py` is a longer run.
"""

import itertools
import os
import random

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from support.delta_tables import good_build
from support.running import running
from support.runs import job_of, table_rows
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh
from millstream.runner.commands.up_to_date import results_if_up_to_date

pytestmark = SPARK_WARNINGS

LAKE = """
sources:
  - name: lake
    delta_tables:
      - name: customers
        path: lake/customers
        key: id
        columns:
          - {name: id, type: bigint}
          - {name: city, type: string}
          - {name: score, type: bigint}
      - name: orders
        path: lake/orders
        columns:
          - {name: order_id, type: bigint}
          - {name: customer_id, type: bigint}
"""
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


@pytest.fixture
def lake(shop):
    shop.write("models/lake.yml", LAKE)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    write(shop, (1, "bern", 1), (2, "bern", 2), (3, "rom", 3))
    write_deltalake(str(shop.root / "lake/orders"), pa.table({"order_id": [1], "customer_id": [3]}))
    return shop


def write(shop, *rows):
    table = rows_of(*rows)
    configuration = {"delta.enableChangeDataFeed": "true"}
    write_deltalake(folder_of(shop), table, mode="append", configuration=configuration)


def folder_of(shop):
    return str(shop.root / "lake/customers")


def rows_of(*rows):
    return pa.table(dict(zip(("id", "city", "score"), zip(*rows, strict=True), strict=True)))


def customers(shop):
    return DeltaTable(folder_of(shop))


def merge(shop, *rows):
    merged = customers(shop).merge(
        rows_of(*rows), predicate="t.id = s.id", source_alias="s", target_alias="t"
    )
    merged.when_matched_update_all().when_not_matched_insert_all().execute()


def check(shop):
    customers = DeltaTable(folder_of(shop)).to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it
    for model, sql in EXPECTED.items():
        stored = sorted(tuple(row.values()) for row in table_rows(shop.root, f"model.{model}"))
        assert (model, stored) == (model, sorted(duckdb.sql(sql).fetchall()))


def placed(shop):
    return {row["order_id"]: row["city"] for row in table_rows(shop.root, "model.placed")}


@pytest.mark.long
def test_models_follow_the_changes(lake, first_spark):
    good_build(lake, first_spark)
    check(lake)
    assert placed(lake) == {1: "rom"}
    assert results_if_up_to_date(job_of(lake.root), lake.root / ".millstream") is not None
    # Several versions of a row in one batch, and rows that come, go and come back.
    merge(lake, (1, "rom", 5), (4, "oslo", 2))
    merge(lake, (1, "oslo", 7))
    customers(lake).delete("id = 3")
    merge(lake, (4, "bern", 9))
    customers(lake).delete("id = 4")
    write(lake, (3, "bern", 8), (5, "rom", 1))
    customers(lake).update(updates={"score": "score + 1"}, predicate="city = 'bern'")
    customers(lake).update(updates={"id": "7"}, predicate="id = 2")
    customers(lake).optimize.compact()
    good_build(lake, first_spark)
    check(lake)
    assert results_if_up_to_date(job_of(lake.root), lake.root / ".millstream") is not None
    customers(lake).delete("city = 'bern'")
    customers(lake).alter.add_columns([Field("note", PrimitiveType("string"))])
    merge(lake, (8, "oslo", 3))
    write_deltalake(
        str(lake.root / "lake/orders"), pa.table({"order_id": [2], "customer_id": [1]}), mode="append"
    )
    good_build(lake, first_spark)
    check(lake)
    assert placed(lake) == {1: "rom", 2: "oslo"}
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

    def change():
        table = customers(lake)
        ids = table.to_pyarrow_table()["id"].to_pylist()
        some = dice.sample(ids, min(len(ids), dice.randrange(1, 4)))
        match dice.randrange(7):
            case 0:
                write(
                    lake,
                    *(
                        (next(new), dice.choice(CITIES), dice.randrange(9))
                        for _ in range(dice.randrange(1, 4))
                    ),
                )
            case 1 if some:
                table.delete(f"id in ({', '.join(map(str, some))})")
            case 2 if some:
                table.update(updates={"id": str(next(new))}, predicate=f"id = {some[0]}")
            case 3:
                table.update(updates={"score": "score + 1"}, predicate=f"city = '{dice.choice(CITIES)}'")
            case 4:
                table.optimize.compact()
            case 5 if ids:
                write_deltalake(folder_of(lake), table.to_pyarrow_table(), mode="overwrite")
            case _:
                merge(lake, *((id_, dice.choice(CITIES), dice.randrange(9)) for id_ in {*some, next(new)}))

    for _ in range(ROUNDS):
        for _ in range(dice.randrange(1, 8)):
            change()
        good_build(lake, first_spark)
        check(lake)


@pytest.mark.long
def test_rows_that_spark_marks_as_deleted(lake, first_spark):
    """Spark deletes rows of large files by deletion vectors."""
    path = lake.root / "lake/marked"
    first_spark.sql(
        f"create table delta.`{path}` (id bigint, city string, score bigint) using delta tblproperties "
        "('delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true', "
        "'delta.columnMapping.mode' = 'name')"
    )
    first_spark.range(10).selectExpr("id", "'bern' as city", "2L as score").coalesce(1).write.format(
        "delta"
    ).mode("append").save(str(path))
    first_spark.sql(f"delete from delta.`{path}` where id < 3")
    lake.write("models/lake.yml", LAKE.replace("lake/customers", "lake/marked"))
    good_build(lake, first_spark)
    assert sorted(row["id"] for row in table_rows(lake.root, "model.good_customers")) == [*range(3, 10)]
    first_spark.sql(f"delete from delta.`{path}` where id = 5")
    first_spark.sql(f"update delta.`{path}` set score = 0 where id = 6")
    good_build(lake, first_spark)
    assert sorted(row["id"] for row in table_rows(lake.root, "model.good_customers")) == [3, 4, 7, 8, 9]
