"""What several models read of one state: it is kept once, and each model gets all of its rows."""

from collections import Counter

import pytest
from support.long import WAYS
from support.runs import built, errors, job_of, table_rows
from support.spark import SPARK_WARNINGS

from millstream.queries.emit.steps import DedupeView, StatefulView

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
SINK = "{{ config(materialized='sink', key='user') }} "
VISITS = """
    from dataclasses import dataclass
    from typing import Iterator, NamedTuple, TypedDict

    class Event(NamedTuple):
        id: int
        value: float | None

    class State(TypedDict, total=False):
        count: int
        total: float

    @dataclass
    class Visit:
        visitor: str | None
        number: int
        total: float

    def visits(key: str | None, rows: Iterator[Event], state: State) -> Iterator[Visit]:
        for row in sorted(rows, key=lambda each: each.id):
            state["count"] = state.get("count", 0) + 1
            state["total"] = state.get("total", 0.0) + (row.value or 0.0)
            yield Visit(key, state["count"], state["total"])
"""
COUNTED = f"select v.visitor as user, v.number, v.total from {EVENTS} as e, lateral visits(e.user) as v"
BUILDS = [
    [("a", {"id": 1, "kind": "x", "value": 1.0}), ("b", {"id": 2, "kind": "y", "value": 2.0}), ("a", {"id": 3, "kind": "x", "value": 3.0})],
    [("a", {"id": 4, "kind": "y", "value": 5.0}), ("c", {"id": 5, "kind": "x", "value": None})],
    [("c", {"id": 6, "kind": "x", "value": 7.0}), ("a", {"id": 7, "kind": "x", "value": 9.0}), (None, {"id": 8, "kind": "x", "value": 1.0})],
]  # fmt: skip


def expected():
    """Return the visits that plain Python counts, in the order of events."""
    counts, totals, rows = Counter(), Counter(), []
    for user, event in (row for rows in BUILDS for row in rows):
        counts[user] += 1
        totals[user] += event["value"] or 0.0
        rows.append((user, counts[user], totals[user]))
    return rows


def visits(shop, topic):
    return Counter((row.get("user"), row.get("number"), row.get("total")) for row in shop.values(topic))


def run(shop, spark, target=None):
    for rows in BUILDS:
        shop.send(*rows)
        _, events = built(shop.root, spark, target=target)
        assert errors(events) == []


def steps(shop, kind):
    return [
        isinstance(step, kind) for query in job_of(shop.root).physical.queries for step in query.steps
    ].count(True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("optimization", "table"), [(way[0], table) for way in WAYS for table in (True, False)]
)
def test_keyed_state_of_a_view_that_several_models_read(shop, first_spark, optimization, table):
    shop.write(
        "profiles.yml",
        "shop: {target: local, outputs: {local: {master: 'local[2]', kafka: embedded, "
        f"optimization: {optimization}}}}}}}",
    )
    shop.write("macros/visits.py", VISITS)
    shop.model("visited", COUNTED)
    shop.model("all_visits", SINK + "select user, number, total from {{ ref('visited') }}")
    shop.model("returns", SINK + "select user, number, total from {{ ref('visited') }} where number > 1")
    if table:
        shop.model(
            "newest",
            "{{ config(materialized='table', unique_key='user', order_by='number') }} "
            "select user, number, total from {{ ref('visited') }} where user is not null",
        )
    run(shop, first_spark)
    if optimization == "all":
        assert steps(shop, StatefulView) == 1, "the state is kept once"
    rows = expected()
    assert visits(shop, "all_visits") == Counter(rows)
    assert visits(shop, "returns") == Counter(row for row in rows if row[1] > 1)
    if table:
        newest = {row["user"]: (row["number"], row["total"]) for row in table_rows(shop.root, "model.newest")}
        assert newest == {user: (number, total) for user, number, total in rows if user is not None}


def test_rows_beside_the_state_that_a_model_shares_are_not_deduplicated_by_batch(shop, first_spark):
    shop.model(
        "firsts",
        "{{ config(materialized='sink', key='user', dedupe={'keys': ['user']}) }} select user, kind from "
        + EVENTS,
    )
    shop.model("both", SINK + f"select user from {{{{ ref('firsts') }}}} union all select user from {EVENTS}")
    run(shop, first_spark)
    users = Counter(user for rows in BUILDS for user, _ in rows)
    assert Counter(row.get("user") for row in shop.values("firsts")) == Counter(users.keys())
    assert Counter(row.get("user") for row in shop.values("both")) == users + Counter(users.keys())


@pytest.mark.long
def test_deduplicated_rows_that_several_models_read(shop, first_spark):
    shop.model("once", "{{ config(dedupe={'keys': ['user', 'kind']}) }} select user, kind, id from " + EVENTS)
    shop.model("all_once", SINK + "select user, kind from {{ ref('once') }}")
    shop.model("xs", SINK + "select user, kind from {{ ref('once') }} where kind = 'x'")
    shop.model(
        "kinds",
        "{{ config(materialized='table', unique_key='user', order_by='id') }} select user, id, kind from {{ ref('once') }} where user is not null",
    )
    run(shop, first_spark)
    assert steps(shop, DedupeView) == 1
    pairs = {(user, event["kind"]) for rows in BUILDS for user, event in rows}
    assert Counter((e.get("user"), e["kind"]) for e in shop.values("all_once")) == Counter(pairs)
    assert Counter((e.get("user"), e["kind"]) for e in shop.values("xs")) == Counter(
        pair for pair in pairs if pair[1] == "x"
    )
    assert {row["user"]: row["kind"] for row in table_rows(shop.root, "model.kinds")} == {
        "a": "y",
        "b": "y",
        "c": "x",
    }
