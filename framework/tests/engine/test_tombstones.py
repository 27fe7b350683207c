"""Topics of groups that match a condition: which tombstones are sent, over several builds."""

from collections import Counter
from functools import partial
from random import Random

import pytest
from engine.test_apply import went_back
from support.runs import built, pairs, statuses, table_rows
from support.shops import UNOPTIMIZED, event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh, Update
from millstream.queries.verdict import AcceptedModels

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
SINK = "{{ config(materialized='sink', key='user') }}\n"
OFTEN = SINK + f"select user, count(*) as n from {EVENTS} group by user having count(*) > 2"
MUCH = SINK + f"select user, sum(value) as total from {EVENTS} group by user having sum(value) > 2"
REBUILD = Update(frozenset({NodeId("model", "often")}))


def sent(shop, topic="often"):
    """Return how many records each user has, and which of these have a value."""
    records = pairs(shop.bootstrap, topic)
    return Counter(key.decode() for key, value in records if value is None), newest(records)


def newest(records):
    return {key.decode() for key, value in dict(records).items() if value is not None}


def needed(records):
    """Return how many tombstones delete a row that is there."""
    there, count = set(), 0
    for key, value in records:
        count += value is None and key in there
        (there.discard if value is None else there.add)(key)
    return count


@pytest.mark.parametrize("optimization", ["all", "none"])
def test_groups_that_never_matched_send_nothing(shop, first_spark, optimization):
    if optimization == "none":
        shop.write("profiles.yml", UNOPTIMIZED)
    shop.model("often", OFTEN)
    shop.model("counted", f"select user, count(*) as n, max(id) as last from {EVENTS} group by user")
    shop.model(
        "of_view", SINK + "select user, n + 1 as more from {{ ref('counted') }} where n > 1 and last > 2"
    )
    shop.model("all_of_view", SINK + "select user, n from {{ ref('counted') }}")
    shop.send(event(1), event(2), event(3), event(4, "b"), event(5, "c"), event(6, "c"))
    built(shop.root, first_spark)
    assert sent(shop) == ({}, {"a"})
    assert sent(shop, "of_view") == ({}, {"a", "c"})
    shop.send(event(7, "b"), event(8, "c"), event(9, "d"))
    built(shop.root, first_spark)
    assert sent(shop) == ({}, {"a", "c"})
    assert sent(shop, "of_view") == ({}, {"a", "b", "c"})
    assert len(pairs(shop.bootstrap, "of_view")) == 4
    assert len(pairs(shop.bootstrap, "all_of_view")) == 6


def test_a_group_that_no_longer_matches_sends_a_tombstone(shop, first_spark):
    shop.model("much", MUCH)
    shop.model("both", MUCH.replace("sum(value) > 2", "sum(value) > 2 and count(*) > 1"))
    shop.send(event(1, value=3.0), event(2, "b"), event(3, "c"), event(4, "c", value=4.0))
    built(shop.root, first_spark)
    assert sent(shop, "much") == ({}, {"a", "c"})
    assert sent(shop, "both") == ({}, {"c"})
    shop.send(event(5, value=-2.0), event(6, "c", value=-9.0), event(7, "d", value=9.0))
    built(shop.root, first_spark)
    assert sent(shop, "much") == ({"a": 1, "c": 1}, {"d"})
    assert sent(shop, "both") == ({"c": 1}, set())


@pytest.mark.long
def test_a_state_keeps_the_columns_that_it_began_with(shop, first_spark):
    """An edit, or an earlier Millstream: its state can't say what a group was, until it is rebuilt."""
    select = f"select user, sum(value) as total, count(*) as n from {EVENTS} group by user having"
    counted, much = f"{SINK}{select} count(*) > 0", f"{SINK}{select} sum(value) > 2"
    shop.model("much", counted)
    accepted = Update(accepted=AcceptedModels(stored=frozenset({NodeId("model", "much")})))
    build = partial(build_much, shop, first_spark)
    shop.send(event(1), event(2, "b"))
    assert build() == ("success", {}, {"a", "b"})
    shop.model("much", much)
    shop.send(event(3), event(4, "b"), event(5, "c"))
    assert build(accepted) == ("success", {"a": 1, "b": 1, "c": 1}, set())  # none is above 2
    shop.send(event(6), event(7, "c", value=9.0), event(8, "d"))
    assert build() == ("success", {"a": 1, "b": 1, "c": 1, "d": 1}, {"a", "c"})
    assert build(Update(frozenset({NodeId("model", "much")}))) == (
        "success",
        {"a": 1, "b": 2, "c": 1, "d": 2},
        {"a", "c"},
    )
    shop.send(event(9, "b", value=-9.0), event(10, "c", value=-9.0), event(11, "d", value=-9.0))
    assert build() == ("success", {"a": 1, "b": 2, "c": 2, "d": 2}, {"a"})
    # Another limit reads the same copies of aggregates.
    shop.model("much", much.replace("> 2", "> 30"))
    shop.send(event(12), event(13, "d", value=50.0))
    assert build(accepted) == ("success", {"a": 2, "b": 2, "c": 2, "d": 2}, {"d"})
    shop.send(event(14, "b"))
    assert build() == ("success", {"a": 2, "b": 3, "c": 2, "d": 2}, {"d"})
    # Without the condition, the state has too many columns.
    shop.model("much", counted)
    assert build(accepted)[0] == "error"
    assert build(Update(frozenset({NodeId("model", "much")})))[0] == "success"


def build_much(shop, spark, intent=None):
    """Build `much`; return its status, and what its topic has."""
    results, _ = built(shop.root, spark, **({} if intent is None else {"intent": intent}))
    return (statuses(results)["much"], *sent(shop, "much"))


def test_a_stricter_condition_deletes_what_the_old_one_sent(shop, first_spark):
    shop.model("often", OFTEN)
    shop.send(*(event(n) for n in range(3)), event(4, "b"))
    built(shop.root, first_spark)
    shop.model("often", OFTEN.replace("> 2", "> 5"))
    accepted = AcceptedModels(stored=frozenset({NodeId("model", "often")}))
    built(shop.root, first_spark, intent=Update(accepted=accepted))
    assert sent(shop) == ({}, {"a"})
    shop.send(event(5))
    built(shop.root, first_spark)  # it may be any build later
    assert sent(shop) == ({"a": 1}, set())
    shop.send(event(6, "b"))
    built(shop.root, first_spark)
    assert sent(shop) == ({"a": 1, "b": 1}, set())


@pytest.mark.parametrize("how", ["rebuild", "apply", pytest.param("refresh", marks=pytest.mark.long)])
def test_another_version_deletes_what_the_old_one_sent(shop, first_spark, how):
    shop.model("often", OFTEN)
    shop.send(*(event(n) for n in range(3)), event(4, "b"))
    built(shop.root, first_spark)
    shop.model("often", OFTEN.replace("> 2", "> 3"))
    intent = {"rebuild": REBUILD, "apply": Apply(), "refresh": FullRefresh()}[how]
    built(shop.root, first_spark, intent=intent)
    assert sent(shop) == ({"a": 1, "b": 1}, set())
    shop.send(event(5, "b"), event(6, "c"))
    built(shop.root, first_spark)
    assert sent(shop) == ({"a": 1, "b": 1}, set())  # from now on, nothing that it did not send itself
    shop.send(event(7))
    built(shop.root, first_spark)
    assert sent(shop)[1] == {"a"}


@pytest.mark.long
def test_a_version_that_is_taken_back_leaves_no_rows_of_its_own(shop, first_spark):
    shop.model("often", OFTEN)
    shop.send(*(event(n) for n in range(3)), event(4, "b"))
    built(shop.root, first_spark)
    shop.model("often", OFTEN.replace("> 2", "> 0"))
    built(shop.root, first_spark, intent=Apply())
    assert sent(shop) == ({}, {"a", "b"})
    went_back(shop, first_spark)
    shop.model("often", OFTEN)
    shop.send(event(5, "b"), event(6, "c"))
    built(shop.root, first_spark)
    assert sent(shop)[1] == {"a"}


@pytest.mark.long
def test_a_table_keeps_the_groups_that_match(shop, first_spark):
    table = OFTEN.replace("materialized='sink', key='user'", "materialized='table', unique_key='user'")
    shop.model("often", table)
    shop.model("out", SINK + "select user, n from {{ ref('much') }}")
    shop.model(
        "much",
        MUCH.replace("materialized='sink', key='user'", "materialized='table', unique_key='user'").replace(
            "as total", "as n"
        ),
    )
    shop.send(event(1, value=3.0), event(2, "b"), event(3), event(4))
    built(shop.root, first_spark)
    shop.send(event(5, "b"), event(6, value=-9.0))
    built(shop.root, first_spark)
    assert [(row["user"], row["n"]) for row in table_rows(shop.root, "model.often")] == [("a", 4)]
    # A sink over a table sends tombstones for its rows alone.
    assert sent(shop, "out") == ({"a": 1}, set())


@pytest.mark.long
def test_figures_of_tombstones(shop, first_spark, capsys):
    """Ten builds of 100 events of 150 users; run with `-s` to see the figures that docs/running.md names."""
    random = Random("figures")
    shop.model("often", OFTEN)
    shop.model("much", MUCH.replace("> 2", "> 20"))
    table = MUCH.replace("materialized='sink', key='user'", "materialized='table', unique_key='user'")
    shop.model("stored", table.replace("> 2", "> 20"))
    shop.model("of_table", SINK + "select user, total from {{ ref('stored') }}")
    for number in range(10):
        users = (f"u{random.randint(1, 150)}" for _ in range(100))
        shop.send(*(event(100 * number + n, user, random.randint(-10, 20)) for n, user in enumerate(users)))
        built(shop.root, first_spark)
    figures = {}
    for topic in ("often", "much", "of_table"):
        records = pairs(shop.bootstrap, topic)
        tombstones = sum(value is None for _, value in records)
        figures[topic] = len(records), tombstones, needed(records)
    with capsys.disabled():
        print(figures)  # noqa: T201 -- the figures
    assert figures["often"][1:] == (0, 0)
    assert figures["of_table"][1] == figures["of_table"][2] == figures["much"][1] == figures["much"][2]
