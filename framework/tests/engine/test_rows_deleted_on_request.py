"""Rows of a customer are deleted from append-only tables on request, in builds one after the other."""

import pytest
from support.runs import built, errors, iceberg_rows, table_rows
from support.shops import PROFILES
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import FullRefresh, Update

pytestmark = SPARK_WARNINGS

RAW = """
    {{ config(materialized='table', store='STORE', order_by='at', delete_when="kind = 'erase'", delete_by='user') }}
    select user, id, kind, at from {{ source('web', 'events') }}
"""


COUNTS = """
    {{ config(materialized='table', unique_key='user', refresh='incremental') }}
    select user, count(*) as n, max(id) as newest from {{ ref('raw') }} group by user
"""


def record(user, number, minute, kind="x"):
    return (user, {"id": number, "kind": kind, "value": 1.0, "at": f"2026-01-01T00:{minute:02}:00Z"})


KINDS = ["delta", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("iceberg", "catalog"))]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_customer_are_deleted_and_late_ones_stay_out(shop, first_spark, kind, request):
    options = "{iceberg_path: lake}"
    if kind == "catalog":
        catalog = request.getfixturevalue("catalog")
        namespace = catalog.new_namespace()
        options = catalog.settings(namespace)
    shop.write("profiles.yml", PROFILES.replace("kafka: embedded", f"kafka: embedded, tables: {options}"))
    shop.model("raw", RAW.replace("STORE", "delta" if kind == "delta" else "iceberg"))
    shop.model("counts", COUNTS.replace("'table'", "'table', store='delta'"))
    touched = []

    def after(*records, **how):
        shop.send(*records)
        results, events = built(shop.root, first_spark, **how)
        assert errors(events) == []
        touched.append(next(node.changes.touched for node in results.results if node.changes))
        match kind:
            case "delta":
                stored = table_rows(shop.root, "model.raw")
            case "iceberg":
                stored = iceberg_rows(shop.root, "raw")
            case "catalog":
                stored = catalog.rows(namespace, "raw")
        numbers = {user: [row["id"] for row in stored if row["user"] == user] for user in ("ann", "bob")}
        assert {row["user"]: (row["n"], row["newest"]) for row in table_rows(shop.root, "model.counts")} == {
            user: (len(of_user), max(of_user)) for user, of_user in numbers.items() if of_user
        }
        return sorted((row["user"], row["id"]) for row in stored)

    first = [("ann", 1), ("ann", 1), ("bob", 2)]
    assert after(record("ann", 1, 1), record("ann", 1, 1), record("bob", 2, 1)) == first
    assert after(record("ann", 3, 5, "erase"), record("bob", 4, 5)) == [("bob", 2), ("bob", 4)]
    late = [("ann", 6), ("bob", 2), ("bob", 4)]
    assert after(record("ann", 5, 4), record("ann", 6, 6)) == late
    assert touched == [0, 2, 1], "after the first build, only the rows of these users are computed"
    assert after(intent=FullRefresh()) == late
    assert after(record("ann", 7, 4)) == late


@pytest.mark.long
def test_a_table_gets_requests_by_an_edit(shop, first_spark):
    without = RAW.replace("STORE", "delta").replace(
        """order_by='at', delete_when="kind = 'erase'", delete_by='user'""", ""
    )
    shop.model("raw", without.replace("store='delta', ", "store='delta'"))
    shop.send(record("ann", 1, 1), record("ann", 2, 5, "erase"), record("bob", 3, 1))
    built(shop.root, first_spark)
    assert len(table_rows(shop.root, "model.raw")) == 3
    shop.model("raw", RAW.replace("STORE", "delta"))
    _, events = built(shop.root, first_spark, intent=Update(frozenset({NodeId("model", "raw")})))
    assert errors(events) == []
    shop.send(record("ann", 4, 2), record("bob", 5, 6, "erase"), record("bob", 6, 7))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert [row["id"] for row in table_rows(shop.root, "model.raw")] == [6]
