"""Delta and Iceberg tables as sources, without Spark."""

import json

import pytest

from millstream.sources.delta import positions as delta
from millstream.sources.iceberg import positions as iceberg

DELTA = """
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
ICEBERG = DELTA.replace("delta_tables", "iceberg_tables").replace(
    "path: lake/orders", "catalog: lake\n        table: shop.orders"
)
LAKES = {"delta": DELTA, "iceberg": ICEBERG}
CUSTOMERS = "{{ source('lake', 'customers') }}"


@pytest.fixture
def lake(shop):
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


@pytest.mark.parametrize("kind", LAKES)
def test_they_are_listed_explained_and_documented(lake, run, kind):
    (lake / "models/lake.yml").write_text(LAKES[kind])
    assert run("compile").code == 0
    assert "source:shop.lake.customers" in run("ls").out.splitlines()
    explained = run("explain", "placed", "towns").out
    assert f"{kind} source.lake.orders" in explained
    assert "customers (stateless, update mode): the newest rows of customers" in explained
    assert "source.lake.customers.town" in run("lineage", "placed.town").out
    assert run("docs", "generate").code == 0
    manifest = json.loads((lake / "target/manifest.json").read_text())
    config = manifest["nodes"]["source.lake.customers"]["config"]
    assert (config["table"], config["key"]) == (True, ["id"])


OF_KEYS = (
    ("start: 3", "start: 3\n        key: id", "'start' does not apply to a table with a key"),
    ("start: 3", "key: id", "'skip_changes' does not apply to a table with a key"),
    ("city, type: string", "_position, type: string", "'_position' is a reserved column of tables with a key"),
    ("key: id", "key: ids", "the key 'ids' is not a column of the table"),
    ("key: id", "key: town", "the key 'town' is not a column of the table"),
    ("path: lake/customers", "path: s3://b/c", "'s3://b/c' is not a folder of this machine"),
)  # fmt: skip
OF_DELTA = (
    ("start: 3", "start: -1", "'-1' is not a version or a time"),
    ("start: 3", "start: yesterday", "'yesterday' is not a version or a time"),
)
OF_ICEBERG = (
    ("catalog: lake", "path: lake/orders", "'orders' needs a path, or a catalog and a table"),
    ("        catalog: lake\n", "", "'orders' needs a path, or a catalog and a table"),
    ("        path: lake/customers\n", "", "'customers' needs a path, or a catalog and a table"),
    ("start: 3", "start: yesterday", "'yesterday' is not a snapshot or a time"),
)


@pytest.mark.parametrize(
    ("declared", "wrong", "right", "message"),
    [
        *((DELTA, *case) for case in (*OF_KEYS, *OF_DELTA)),
        *((ICEBERG, *case) for case in (*OF_KEYS, *OF_ICEBERG)),
    ],
)
def test_mistakes_are_reported_at_their_keys(lake, run, declared, wrong, right, message):
    assert wrong in declared
    (lake / "models/lake.yml").write_text(declared.replace(wrong, right))
    assert message in run("compile").err


def test_positions_of_delta_are_the_next_version():
    offset = {
        "sourceVersion": 1,
        "reservoirId": "a",
        "reservoirVersion": 3,
        "index": -1,
        "isStartingVersion": False,
    }
    third = delta.from_log(offset, None)
    assert third == delta.DeltaPosition("a", 3)
    assert delta.from_log(offset | {"index": 1}, None) == delta.DeltaPosition("a", 4)
    first, recreated = delta.DeltaPosition("a", 1), delta.DeltaPosition("b", 2)
    check_positions(first, third, recreated, delta.from_stored, "versions 1 to 2")


def test_positions_of_iceberg_are_the_last_snapshot():
    third = iceberg.from_log({"iceberg_table": "a", "snapshot": 77, "number": 3}, None)
    assert third == iceberg.IcebergPosition("a", 3, 77)
    assert third.offset() == {"iceberg_table": "a", "snapshot": 77, "number": 3}
    first, recreated = iceberg.IcebergPosition("a", 1, 5), iceberg.IcebergPosition("b", 2, 6)
    check_positions(first, third, recreated, iceberg.from_stored, "snapshots 2 to 3")


def check_positions(first, third, recreated, from_stored, between):
    assert from_stored(third.stored()) == third
    assert (third.covers(first), third.covers(recreated)) == (True, False)
    assert (third.since(first), third.since(None), recreated.since(third)) == (2, 3, 2)
    assert [*third.texts("lake.orders", first)] == [f"lake.orders, {between}"]
    assert [*third.texts("lake.orders", third)] == []
