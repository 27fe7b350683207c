"""Commands over a kind of source that an installed package adds, without Spark."""

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
    ],
)  # fmt: skip
def test_mistakes_are_reported_at_their_keys(lake, run, wrong, right, message):
    assert wrong in LAKE
    (lake / "models/lake.yml").write_text(LAKE.replace(wrong, right))
    assert message in run("compile").err
