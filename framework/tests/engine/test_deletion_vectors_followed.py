"""What follows a large table, of which batches mark rows as deleted, sees each change."""

import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from support.runs import built, statuses
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.stores.delta.spark import small_tables

pytestmark = SPARK_WARNINGS

FOLLOWER = """
    {{ config(materialized='sink', key='user') }}
    select user, total from {{ ref('totals') }}
"""
BY_SIZE = """
    {{ config(materialized='table', unique_key='large') }}
    select total > 5 as large, count(*) as users, sum(total) as total from {{ ref('totals') }} group by total > 5
"""


def table(shop, name):
    (log,) = Path(shop.root).rglob(f"{name}/_delta_log")
    return DeltaTable(str(log.parent))


def rows(shop, name):
    reader = QueryBuilder().register("t", table(shop, name)).execute("select * from t")
    return pa.table(reader.read_all()).to_pylist()


@pytest.mark.long
def test_what_follows_a_table_with_marks_sees_each_change(shop, first_spark, monkeypatch):
    shop.model("totals", TOTALS)
    shop.model("follower", FOLLOWER)
    shop.model("by_size", BY_SIZE)
    dice, totals, sent = random.Random(3), {}, 0
    for turn in range(3):
        if turn == 1:  # what follows the table has begun to do so
            monkeypatch.setattr(small_tables, "LARGEST", -1)
        events = []
        for _ in range([80, 40, 10][turn]):
            user, sent = f"u{dice.randrange(90)}", sent + 1
            totals[user] = totals.get(user, 0) + sent % 4
            events.append(event(sent, user=user, value=float(sent % 4)))
        shop.send(*events)
        results, _ = built(shop.root, first_spark)
        assert set(statuses(results).values()) == {"success"}
        stored = {row["user"]: row["total"] for row in rows(shop, "totals")}
        assert stored == totals
        assert {row["user"]: row["total"] for row in shop.values("follower")} == totals
        sizes = {}
        for total in totals.values():
            users, total_of = sizes.get(total > 5, (0, 0))
            sizes[total > 5] = users + 1, total_of + total
        stored_sizes = {row["large"]: (row["users"], row["total"]) for row in rows(shop, "by_size")}
        assert stored_sizes == sizes
    assert pa.table(table(shop, "totals").deletion_vectors()).num_rows
