"""Iceberg tables as sources, without Spark."""

import json

import pytest

from millstream.sources.iceberg.positions import IcebergPosition, from_log, from_stored

LAKE = """
sources:
  - name: lake
    iceberg_tables:
      - name: orders
        catalog: lake
        table: shop.orders
        start: 3
        skip_changes: true
        watermark: {column: at, delay: 1 day}
        columns: [{name: id, type: bigint}, {name: customer, type: bigint}, {name: at, type: timestamp}]
      - name: customers
        path: lake/customers
        key: id
        columns: [{name: id, type: bigint}, {name: city, type: string}, {name: town, from: upper(city)}]
"""
CUSTOMERS = "{{ source('lake', 'customers') }}"


@pytest.fixture
def lake(shop):
    (shop / "models/lake.yml").write_text(LAKE)
    (shop / "models/placed.sql").write_text(
        "{{ config(materialized='table', unique_key='id') }}\n"
        "select o.id, town from {{ source('lake', 'orders') }} as o\n"
        f"join {CUSTOMERS} as c on o.customer = c.id"
    )
    return shop


def test_it_compiles_and_is_listed_explained_and_documented(lake, run):
    assert run("compile").code == 0
    assert "source:shop.lake.customers" in run("ls").out.splitlines()
    explained = run("explain", "placed").out
    assert "iceberg source.lake.orders" in explained
    assert "customers (stateless, update mode): the newest rows of customers" in explained
    assert "source.lake.customers.town" in run("lineage", "placed.town").out
    assert run("docs", "generate").code == 0
    manifest = json.loads((lake / "target/manifest.json").read_text())
    config = manifest["nodes"]["source.lake.customers"]["config"]
    assert (config["table"], config["key"]) == (True, ["id"])


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("path: lake/customers", "path: s3://b/c", "'s3://b/c' is not a folder of this machine"),
        ("catalog: lake", "path: lake/orders", "'orders' needs a path, or a catalog and a table"),
        ("        catalog: lake\n", "", "'orders' needs a path, or a catalog and a table"),
        ("        path: lake/customers\n", "", "'customers' needs a path, or a catalog and a table"),
        ("start: 3", "start: yesterday", "'yesterday' is not a snapshot or a time"),
        ("start: 3", "start: 3\n        key: id", "'start' does not apply to a table with a key"),
        ("key: id", "key: town", "the key 'town' is not a column of the table"),
    ],
)
def test_mistakes_are_reported_at_their_keys(lake, run, wrong, right, message):
    assert wrong in LAKE
    (lake / "models/lake.yml").write_text(LAKE.replace(wrong, right))
    assert message in run("compile").err


def test_positions_are_the_last_snapshot():
    third = from_log({"iceberg_table": "a", "snapshot": 77, "number": 3}, None)
    assert third == IcebergPosition("a", 3, 77) == from_stored(third.stored())
    assert third.offset() == {"iceberg_table": "a", "snapshot": 77, "number": 3}
    first, recreated = IcebergPosition("a", 1, 5), IcebergPosition("b", 2, 6)
    assert (third.covers(first), third.covers(recreated)) == (True, False)
    assert (third.since(first), third.since(None), recreated.since(third)) == (2, 3, 2)
    assert [*third.texts("lake.orders", first)] == ["lake.orders, snapshots 2 to 3"]
    assert [*third.texts("lake.orders", third)] == []
