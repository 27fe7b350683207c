"""A source of files is read once its folder exists and its files can be read."""

import duckdb
from support.runs import built, errors, statuses
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

LAKE = """
sources:
  - name: lake
    files:
      - {name: orders, path: data/orders, format: parquet, columns: [{name: id, type: bigint}]}
"""
MODEL = """
    {{ config(materialized='table', unique_key='id') }} select id from {{ source('lake', 'orders') }}
"""


def test_a_missing_folder_and_a_damaged_file(shop, first_spark):
    shop.write("models/lake.yml", LAKE)
    shop.model("orders", MODEL)
    diagnostic = failure(shop, first_spark)
    assert (diagnostic.code, diagnostic.help) == ("MS699", "create it, or change its path")
    assert "does not exist" in diagnostic.message
    assert diagnostic.location.path == "models/lake.yml"
    folder = shop.root / "data/orders"
    folder.mkdir(parents=True)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    (folder / "one.parquet").write_text("not Parquet at all")
    diagnostic = failure(shop, first_spark)
    assert (diagnostic.code, diagnostic.help.startswith("restore the file")) == ("MS699", True)
    assert "one.parquet: it can't be read" in diagnostic.message
    (folder / "one.parquet").unlink()
    duckdb.execute(f"copy (select 1::bigint as id) to '{folder}/one.parquet' (format parquet)")
    results, events = built(shop.root, first_spark)
    assert (errors(events), statuses(results)) == ([], {"orders": "success"})


def failure(shop, spark):
    _, events = built(shop.root, spark)
    (diagnostic,) = errors(events)
    return diagnostic
