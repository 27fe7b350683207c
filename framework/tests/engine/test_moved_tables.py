"""A table that another query fills from now on, on Kafka, Spark and Delta."""

import pytest
from support.runs import built, errors, job_of, statuses, table_rows
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh, Update
from millstream.deploy.stages.roll_back import roll_back

pytestmark = SPARK_WARNINGS

NEWEST = """
    {{ config(materialized='table', unique_key='user', order_by='id') }}
    select user, id from {{ source('web', 'events') }}
"""
MOST = """
    {{ config(materialized='table', unique_key='user') }}
    select user, max(id) as id from {{ source('web', 'events') }} where kind = 'x' group by user
"""
PLAIN = "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}"


@pytest.fixture
def moved(shop, first_spark):
    """A model that shared a query without state, and keeps a state of its own now."""
    shop.model("ids", NEWEST)
    shop.model("plain", PLAIN)
    shop.send(event(1), event(2, "b", kind="y"))
    built(shop.root, first_spark)
    shop.model("ids", MOST)
    return shop


def ids(shop):
    return {row["user"]: row["id"] for row in table_rows(shop.root, "model.ids")}


@pytest.mark.long
def test_rows_of_two_queries_are_never_mixed(moved, first_spark):
    for _ in range(2):  # the other query goes on without it meanwhile
        results, events = built(moved.root, first_spark)
        assert statuses(results) == {"plain": "success", "ids": "error"}
        assert [diagnostic.code for diagnostic in errors(events)] == ["MS870"]
        assert ids(moved) == {"a": 1, "b": 2}
    results, _ = built(moved.root, first_spark, intent=Update(frozenset({NodeId("model", "ids")})))
    assert statuses(results) == {"plain": "success", "ids": "success"}
    assert ids(moved) == {"a": 1}
    moved.send(event(3))
    built(moved.root, first_spark)
    assert ids(moved) == {"a": 3}


@pytest.mark.long
def test_a_full_refresh_begins_with_an_empty_table(moved, first_spark):
    built(moved.root, first_spark, intent=FullRefresh(), models=frozenset({"model.ids"}))
    assert ids(moved) == {"a": 1}


@pytest.mark.long
def test_apply_makes_it_anew_and_gives_it_back(moved, first_spark):
    built(moved.root, first_spark, intent=Apply())
    assert ids(moved) == {"a": 1}
    roll_back(job_of(moved.root), moved.root / ".millstream", lambda _: None, first_spark)
    moved.model("ids", NEWEST)
    built(moved.root, first_spark)
    assert ids(moved) == {"a": 1, "b": 2}
