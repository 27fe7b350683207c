"""Tables over tables, built on Kafka, Spark and Delta."""

import json

import pytest
from deltalake import DeltaTable
from support.runs import built, errors, received, statuses, table_rows
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.project.load import load_project
from millstream.results.run_results import TableChanges
from millstream.stores.delta.folder import delta_folder

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

LATEST = """
    {{ config(materialized='table', unique_key='id', delete_when="kind = 'gone'") }}
    select id, user, kind, value from {{ source('web', 'events') }}
"""
KINDS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, count(*) as n, max(value) as most, count(distinct user) as users from {{ ref('latest') }} group by kind
"""
SIZES = """
    {{ config(materialized='table', unique_key='n') }}
    select k.n, count(*) as events from {{ ref('latest') }} as l join {{ ref('kinds') }} as k on l.kind = k.kind group by k.n
"""
FIRST = """
    {{ config(materialized='table', unique_key='id', refresh='full') }}
    select id, kind from {{ ref('latest') }} qualify row_number() over (partition by kind order by id) = 1
"""
OUT = "{{ config(materialized='sink', key='kind') }} select kind, n from {{ ref('kinds') }}"


def event(number, user, kind, value=1.0):
    return (user, {"id": number, "kind": kind, "value": value})


def table_path(root, name):
    return delta_folder(load_project(root, None, None, None).target, root).read(NodeId("model", name))


def kinds(root):
    return {row["kind"]: (row["n"], row["most"], row["users"]) for row in table_rows(root, "model.kinds")}


def sizes(root):
    return {row["n"]: row["events"] for row in table_rows(root, "model.sizes")}


def changed(results):
    return {result.id.partition(".")[2]: result.rows_changed for result in results.results}


def of(results, name):
    return next(result.changes for result in results.results if result.id == f"model.{name}")


def of_delta(root, name):
    """Return what Delta itself counted of the last commit."""
    counted = DeltaTable(table_path(root, name)).history(1)[0]["operationMetrics"]
    return {kind: int(counted[f"num_target_rows_{kind}"]) for kind in ("inserted", "updated", "deleted")}


def test_a_chain_of_tables_follows_inserts_updates_and_deletes(shop, first_spark):
    for name, sql in {"latest": LATEST, "kinds": KINDS, "sizes": SIZES, "first": FIRST, "out": OUT}.items():
        shop.model(name, sql)
    shop.send(event(1, "a", "x"), event(2, "b", "x", 3.0), event(3, "c", "y"), event(4, "c", "y", 2.0))
    results, events = built(shop.root, first_spark)
    assert not errors(events), errors(events)
    assert set(statuses(results).values()) == {"success"}
    assert kinds(shop.root) == {"x": (2, 3.0, 2), "y": (2, 2.0, 1)}
    assert sizes(shop.root) == {2: 4}
    assert changed(results) == {"latest": None, "kinds": 2, "sizes": 1, "first": 2, "out": None}
    assert of(results, "kinds") == TableChanges(touched=0, computed=2, inserted=2)
    assert sorted(row["id"] for row in table_rows(shop.root, "model.first")) == [1, 3]
    # An update moves a row to another group, a delete removes a group.
    shop.send(event(2, "b", "y", 3.0), event(1, "a", "gone"), event(5, "d", "z"))
    results, events = built(shop.root, first_spark)
    assert not errors(events), errors(events)
    assert kinds(shop.root) == {"y": (3, 3.0, 2), "z": (1, 1.0, 1)}
    assert sizes(shop.root) == {3: 3, 1: 1}
    assert changed(results) == {"latest": None, "kinds": 3, "sizes": 3, "first": 4, "out": None}
    assert of(results, "kinds") == TableChanges(touched=3, computed=2, inserted=1, updated=1, deleted=1)
    assert of(results, "first") == TableChanges(touched=0, computed=2, inserted=2, deleted=2)
    for name in ("kinds", "sizes", "first"):
        assert of(results, name).by_kind == of_delta(shop.root, name)
    assert sorted(row["id"] for row in table_rows(shop.root, "model.first")) == [2, 5]
    # Its readers get the same differences.
    records = received(shop.bootstrap, "out")
    assert {(record.key(), record.value() and json.loads(record.value())["n"]) for record in records} == {
        (b"x", 2), (b"y", 2), (b"y", 3), (b"z", 1), (b"x", None),
    }  # fmt: skip
    # A build without changes stores nothing.
    versions = {
        name: DeltaTable(table_path(shop.root, name)).version() for name in ("kinds", "sizes", "first")
    }
    built(shop.root, first_spark)
    assert versions == {name: DeltaTable(table_path(shop.root, name)).version() for name in versions}
    # An edit computes all rows again, and stores the differences.
    shop.model("kinds", KINDS.replace("count(*) as n", "count(*) + 1 as n"))
    results, events = built(shop.root, first_spark)
    assert not errors(events), errors(events)
    assert set(statuses(results).values()) == {"success"}
    assert kinds(shop.root) == {"y": (4, 3.0, 2), "z": (2, 1.0, 1)}
    assert sizes(shop.root) == {4: 3, 2: 1}
