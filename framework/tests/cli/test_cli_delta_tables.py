"""Delta tables as sources, without Spark."""

import json

import pytest

from millstream.sources.delta.positions import DeltaPosition, from_log, from_stored

LAKE = """
sources:
  - name: lake
    delta_tables:
      - name: orders
        path: lake/orders
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
    (shop / "models/towns.sql").write_text(
        "{{ config(materialized='table', unique_key='town') }}\n"
        f"select town, count(*) as customers from {CUSTOMERS} group by town"
    )
    return shop


def test_it_compiles_and_is_listed_explained_and_documented(lake, run):
    assert run("compile").code == 0
    assert "source:shop.lake.customers" in run("ls").out.splitlines()
    explained = run("explain", "placed", "towns").out
    assert "delta source.lake.orders" in explained
    assert "customers (stateless, update mode): the newest rows of customers" in explained
    assert "source.lake.customers.town" in run("lineage", "placed.town").out
    assert run("docs", "generate").code == 0
    manifest = json.loads((lake / "target/manifest.json").read_text())
    config = manifest["nodes"]["source.lake.customers"]["config"]
    assert (config["table"], config["key"]) == (True, ["id"])


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("path: lake/orders", "path: s3://bucket/orders", "'s3://bucket/orders' is not a folder of this machine"),
        ("start: 3", "start: -1", "'-1' is not a version or a time"),
        ("start: 3", "start: yesterday", "'yesterday' is not a version or a time"),
        ("start: 3", "start: 3\n        key: id", "'start' does not apply to a table with a key"),
        ("start: 3", "key: id", "'skip_changes' does not apply to a table with a key"),
        ("city, type: string", "_position, type: string", "'_position' is a reserved column of tables with a key"),
        ("key: id", "key: ids", "the key 'ids' is not a column of the table"),
        ("key: id", "key: town", "the key 'town' is not a column of the table"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_at_their_keys(lake, run, wrong, right, message):
    assert wrong in LAKE
    (lake / "models/lake.yml").write_text(LAKE.replace(wrong, right))
    assert message in run("compile").err


def test_positions_are_the_next_version():
    offset = {
        "sourceVersion": 1,
        "reservoirId": "a",
        "reservoirVersion": 3,
        "index": -1,
        "isStartingVersion": False,
    }
    third = from_log(offset, None)
    assert third == DeltaPosition("a", 3)
    assert from_log(offset | {"index": 1}, None) == DeltaPosition("a", 4)
    assert from_stored(third.stored()) == third
    recreated = DeltaPosition("b", 2)
    assert (third.covers(DeltaPosition("a", 2)), third.covers(recreated)) == (True, False)
    assert (third.since(DeltaPosition("a", 1)), third.since(None), recreated.since(third)) == (2, 3, 2)
    assert [*third.texts("lake.orders", DeltaPosition("a", 1))] == ["lake.orders, versions 1 to 2"]
    assert [*third.texts("lake.orders", third)] == []
