"""Commands over a kind of source that an installed package adds, without Spark."""

import json

import pytest
from support.kinds import LAKE, parquet_folders  # noqa: F401 - a fixture

TOTALS = """
{{ config(materialized='table', unique_key='customer') }}
select customer, sum(doubled) as total, max(_file) as file from {{ source('lake', 'orders') }} group by customer
"""


@pytest.fixture
def lake(shop, parquet_folders):  # noqa: F811
    (shop / "models/lake.yml").write_text(LAKE)
    (shop / "models/customers.sql").write_text(TOTALS)
    return shop


def test_it_compiles_and_is_listed_explained_and_documented(lake, run):
    assert run("compile").code == 0
    assert "source:shop.lake.orders" in run("ls").out.splitlines()
    explained = run("explain", "customers").out
    assert "parquet_folder source.lake.orders" in explained
    assert "reads lake.orders" in explained
    upstream = run("lineage", "customers.total").out
    assert "source.lake.orders.doubled" in upstream
    assert run("docs", "generate").code == 0
    assert "Parquet folder" in "".join(file.read_text() for file in (lake / "target/docs/data").glob("*.js"))
    assert "lake" not in run("docs", "generate", "--format", "asyncapi").out


def test_a_package_that_is_not_installed(shop, run):
    (shop / "models/lake.yml").write_text(LAKE)
    result = run("compile")
    assert result.code == 2
    assert "unknown key 'parquet_folders'" in result.err


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("path: lake/orders", "folder: x", "path"),
        ("amount, type: double", "_file, type: string", "'_file' is a metadata column of every Parquet folder"),
        ("amount, type: double", "amount", "column 'amount' has no type"),
        ("orders\n        description", "orders\n        watermark: {column: x, delay: 1 minute}\n        description",
         "column 'x' does not exist"),
        ("description: Orders of the shop.", "tests: [freshness: {within: 1 hour}]",
         "the rows of a Parquet folder have no time of their own"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_at_their_keys(lake, run, wrong, right, message):
    assert wrong in LAKE
    (lake / "models/lake.yml").write_text(LAKE.replace(wrong, right))
    assert message in run("compile").err


RATES = """
sources:
  - name: demo
    rates:
      - name: ticks
        rows_per_second: 5
        tests: [freshness: {within: 1 minute}]
        columns: [{name: doubled, from: value * 2}, {name: value, description: Its number.}]
"""


@pytest.fixture
def demo(shop):
    (shop / "models/demo.yml").write_text(RATES)
    (shop / "models/sums.sql").write_text(
        "{{ config(materialized='table', unique_key='k') }}\n"
        "select value % 3 as k, sum(doubled) as total, max(timestamp) as newest from {{ source('demo', 'ticks') }} group by 1"
    )
    return shop


def test_the_columns_of_a_kind_need_not_be_declared(demo, run):
    assert run("compile").code == 0
    explained = run("explain", "sums").out
    assert "rate source.demo.ticks" in explained
    assert "demo.ticks: 5 rows a second" in explained
    assert "source.demo.ticks.value" in run("lineage", "sums.total").out
    manifest = json.loads((demo / "target/manifest.json").read_text())
    columns = manifest["nodes"]["source.demo.ticks"]["columns"]
    assert [(column["name"], column["type"], column["description"]) for column in columns] == [
        ("timestamp", "timestamp", "When the row came."),
        ("value", "bigint", "Its number."),
        ("doubled", "bigint", ""),
    ]
    (fresh,) = (node for id_, node in manifest["nodes"].items() if id_.startswith("test.freshness"))
    assert fresh["meta"]["arguments"]["column"] == "timestamp"


def test_the_size_of_a_state_is_known_by_the_rate(demo, run):
    (demo / "models/demo.yml").write_text(RATES + "        watermark: {column: timestamp, delay: 1 minute}\n")
    (demo / "models/once.sql").write_text(
        "{{ config(materialized='sink', dedupe={'keys': ['value'], 'within': '1 minute'}) }}\n"
        "select value, timestamp from {{ source('demo', 'ticks') }}"
    )
    assert "300 keys" in run("explain", "once").out


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("rows_per_second: 5", "rows_per_second: 0", "rows_per_second"),
        ("from: value * 2", "type: int", "a rate source has no column 'doubled'"),
        ("name: value,", "name: value, type: int,", "the column 'value' of a rate source is bigint"),
        ("name: value,", "name: value, from: doubled,", "the column 'value' of a rate source is bigint"),
    ],
)
def test_mistakes_in_the_columns_of_a_kind(demo, run, wrong, right, message):
    assert wrong in RATES
    (demo / "models/demo.yml").write_text(RATES.replace(wrong, right))
    result = run("compile")
    assert result.code != 0
    assert message in result.err
    assert "models/demo.yml:" in result.err
