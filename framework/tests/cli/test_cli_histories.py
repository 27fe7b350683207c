"""The history of a topic, without Spark."""

import json

import pytest

SHOP = """
sources:
  - name: shop
    topics:
      - name: orders
        key: {name: id, type: bigint}
        history: {delta_table: lake/orders}
        columns: [{name: city, type: string}, {name: price, type: double}, {name: late, from: price > 5}]
"""
CITIES = """
{{ config(materialized='table', unique_key='city', unbounded_state='accept') }}
select city, count(*) as orders from {{ source('shop', 'orders') }} group by city
"""


@pytest.fixture
def orders(shop):
    (shop / "models/orders.yml").write_text(SHOP)
    (shop / "models/cities.sql").write_text(CITIES)
    return shop


def test_it_compiles_and_is_explained_and_documented(orders, run):
    assert run("compile").code == 0
    assert "topic orders after delta lake/orders" in run("explain", "cities").out
    file = orders / "models/orders.yml"
    file.write_text(SHOP.replace("{delta_table: lake/orders}", "{iceberg_table: shop.old, catalog: lake}"))
    assert "topic orders after iceberg lake shop.old" in run("explain", "cities").out
    file.write_text(SHOP)
    assert "source.shop.orders.city" in run("lineage", "cities.city").out
    assert run("docs", "generate").code == 0
    manifest = json.loads((orders / "target/manifest.json").read_text())
    assert manifest["nodes"]["source.shop.orders"]["config"]["history"] == {
        "kind": "delta",
        "path": "lake/orders",
    }


@pytest.mark.parametrize(
    ("wrong", "right", "message", "remedy"),
    [
        ("{delta_table: lake/orders}", "{}", "the history of 'orders' has no place", "{files: lake}"),
        ("{delta_table: lake/orders}", "{delta_table: a, files: b}", "the history of 'orders' has two places", "{delta_table: a}"),
        ("lake/orders}", "s3://lake}", "'s3://lake' is not a folder of this machine", "lake}"),
        ("lake/orders}", "lake, until: soon}", "'soon'", "lake, until: 2026-01-01}"),
        ("lake/orders}", "lake, catalog: lake}", "'catalog' is the catalog of an Iceberg table", "lake}"),
        ("{delta_table: lake/orders}", "{delta_table: a, catalog: b}", "of an Iceberg table", "{iceberg_table: shop.a, catalog: b}"),
        ("lake/orders}", "lake, offsets: {first: 1}}", "'first' is not a partition of 'orders'", "lake, offsets: {0: 1}}"),
        ("lake/orders}", "lake}\n        starting: latest", "says where the topic starts", "lake}"),
        ("lake/orders}", "lake}\n        table: true", "is a reference topic, which needs no history", "lake}"),
        ("lake/orders}", "lake}\n        deduplicate: position", "have no sender to deduplicate by", "lake}"),
        ("lake/orders}", "lake}\n        topic_pattern: a.*", "'orders' has several topics", "lake}"),
        ("lake/orders}", "lake}\n        topics: [a, b]", "'orders' has several topics", "lake}"),
        ("lake/orders}", "lake}\n        format: csv", "can't have a history: csv may change its column 'price', double", "lake}"),
        ("id, type: bigint", "id, type: double", "string may change its column 'id', double", "id, type: string"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_at_their_keys_and_their_remedies_help(
    orders, run, wrong, right, message, remedy
):
    assert wrong in SHOP
    (orders / "models/orders.yml").write_text(SHOP.replace(wrong, right))
    assert message in run("compile").err
    (orders / "models/orders.yml").write_text(SHOP.replace(wrong, remedy))
    assert run("compile").code == 0
