"""Queries that cannot continue are rebuilt, compared, swapped, and rolled back, on Kafka, Spark and Delta."""

import functools
import os
from decimal import Decimal

import pytest
from support.runs import built, errors, job_of, statuses, table_rows
from support.shops import SUMS, UNOPTIMIZED, WINDOWS, event, minute
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, Update
from millstream.deploy.stages.roll_back import roll_back
from millstream.deploy.values import TableCompared
from millstream.engine.queries.tables import Tables
from millstream.stores.files import LocalFiles

pytestmark = SPARK_WARNINGS

TOTALS = """
    {{ config(materialized='table', unique_key='user') }}
    select user, sum(value) as total, count(*) as events from {{ source('web', 'events') }} group by user
"""
MOST = TOTALS.replace("sum(value)", "max(value)")
ANY = Apply({NodeId("model", "totals"): ("user", "events")})


def totals(shop):
    return {row["user"]: (row["total"], row["events"]) for row in table_rows(shop.root, "model.totals")}


def compared(events):
    return [event for event in events if isinstance(event, TableCompared)]


def went_back(shop, spark):
    events = []
    roll_back(job_of(shop.root), shop.root / ".millstream", events.append, spark)
    return events


@pytest.mark.long
def test_what_does_not_fit_is_made_anew_compared_and_taken_back(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))
    built(shop.root, first_spark)
    shop.model("totals", MOST)
    shop.send(event(4, value=1.0))
    results, events = built(shop.root, first_spark, intent=ANY)
    assert statuses(results) == {"totals": "success"}
    assert compared(events) == [TableCompared(NodeId("model", "totals"), ("events",), 2)]
    assert totals(shop) == {"a": (3.0, 3), "b": (1.0, 1)}
    went_back(shop, first_spark)
    assert totals(shop) == {"a": (5.0, 2), "b": (1.0, 1)}
    # The version that wrote it goes on; the newer one does not.
    results, events = built(shop.root, first_spark)
    assert statuses(results) == {"totals": "error"}
    assert [diagnostic.code for diagnostic in errors(events)] == ["MS870"]
    shop.model("totals", TOTALS)
    built(shop.root, first_spark)
    assert totals(shop) == {"a": (6.0, 3), "b": (1.0, 1)}
    with pytest.raises(MillstreamError, match="MS887"):
        went_back(shop, first_spark)


FIRSTS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, min(id) as first from {{ source('web', 'events') }} group by kind
"""


@pytest.mark.long
def test_what_is_new_goes_when_an_apply_is_taken_back(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0))
    built(shop.root, first_spark)
    shop.model("totals", MOST)
    shop.model("firsts", FIRSTS)
    built(shop.root, first_spark, intent=ANY)
    assert table_rows(shop.root, "model.firsts") == [{"kind": "x", "first": 1}]
    went_back(shop, first_spark)
    (checkpoints,) = (shop.root / ".millstream").glob("*/checkpoints")
    files = {"build.lock", "groups.lock", "manifest.json"}
    assert {path.name for path in checkpoints.iterdir()} == {*files, "totals"}
    assert {path.name for path in checkpoints.parent.joinpath("tables").iterdir()} == {"totals"}


@pytest.mark.long
def test_a_table_over_tables_whose_column_gets_another_type_is_rebuilt_with_what_reads_it(shop, first_spark):
    over = "{{ config(materialized='table', unique_key='%s') }} select %s from {{ ref('%s') }} group by 1"
    shop.model("totals", TOTALS)
    shop.model("users", over % ("events", "events, count(*) as users", "totals"))
    shop.model("most", over % ("users", "users, max(events) as most", "users"))
    shop.send(event(1), event(2), event(3, "b"))
    built(shop.root, first_spark)
    shop.model("users", over % ("events", "events, count(*) + 0.5 as users", "totals"))
    results, events = built(shop.root, first_spark, intent=Apply({}))
    assert not errors(events)
    assert statuses(results) == dict.fromkeys(("totals", "users", "most"), "success")
    half = Decimal("1.5")
    stored = [(row["events"], row["users"]) for row in table_rows(shop.root, "model.users")]
    assert sorted(stored) == [(1, half), (2, half)]
    assert table_rows(shop.root, "model.most") == [{"users": half, "most": 2}]
    shop.send(event(4, "b"))
    built(shop.root, first_spark)
    assert table_rows(shop.root, "model.most") == [{"users": Decimal("2.5"), "most": 2}]


@pytest.mark.long
def test_tables_over_a_table_with_a_renamed_column_go_on_after_apply_and_after_a_rollback(shop, first_spark):
    over = "{{ config(materialized='table', unique_key='one') }} select one, %s from {{ ref('events_of') }} group by one"
    stored = """
        {{ config(materialized='table', unique_key='id') }}
        select value as id, value as amount, 1 as one from {{ source('web', 'events') }}
    """
    shop.model("events_of", stored)
    shop.model("amounts", over % "sum(amount) as total")
    shop.model("counts", over % "count(*) as n")
    shop.send(event(1, value=2.0), event(2, value=3.0))
    built(shop.root, first_spark)
    shop.model("events_of", stored.replace("as amount", "as price"))
    shop.model("amounts", over % "sum(price) as total")
    shop.send(event(3, value=4.0))
    results, events = built(shop.root, first_spark, intent=Apply({}))
    assert not errors(events)
    assert statuses(results) == dict.fromkeys(("events_of", "amounts", "counts"), "success")
    assert table_rows(shop.root, "model.amounts") == [{"one": 1, "total": 9.0}]
    assert table_rows(shop.root, "model.counts") == [{"one": 1, "n": 3}]
    went_back(shop, first_spark)
    shop.model("events_of", stored)
    shop.model("amounts", over % "sum(amount) as total")
    shop.send(event(4, value=5.0))
    _, events = built(shop.root, first_spark)
    assert not errors(events)
    assert table_rows(shop.root, "model.amounts") == [{"one": 1, "total": 14.0}]
    assert table_rows(shop.root, "model.counts") == [{"one": 1, "n": 4}]


@pytest.mark.long
def test_tables_over_a_table_with_a_column_of_another_type_are_rebuilt_even_if_they_do_not_read_it(
    shop, first_spark
):
    stored = """
        {{ config(materialized='table', unique_key='id') }}
        select value as id, value as amount, 1 as one from {{ source('web', 'events') }}
    """
    shop.model("events_of", stored)
    shop.model(
        "counts",
        "{{ config(materialized='table', unique_key='one') }} select one, count(*) as n from {{ ref('events_of') }} group by one",
    )
    shop.send(event(1, value=2.0), event(2, value=3.0))
    built(shop.root, first_spark)
    shop.model("events_of", stored.replace("value as amount", "cast(value as int) as amount"))
    shop.send(event(3, value=4.0))
    results, events = built(shop.root, first_spark, intent=Apply({}))
    assert not errors(events)
    assert statuses(results) == dict.fromkeys(("events_of", "counts"), "success")
    shop.send(event(4, value=5.0))
    _, events = built(shop.root, first_spark)
    assert not errors(events)
    assert table_rows(shop.root, "model.counts") == [{"one": 1, "n": 4}]


@pytest.mark.long
def test_what_was_made_anew_since_is_not_taken_back(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0))
    built(shop.root, first_spark)
    shop.model("totals", MOST)
    built(shop.root, first_spark, intent=ANY)
    built(shop.root, first_spark, intent=Update(frozenset({NodeId("model", "totals")})))
    with pytest.raises(MillstreamError, match="rebuilt since"):
        went_back(shop, first_spark)


@pytest.mark.long
def test_a_state_that_would_count_rows_twice_is_not_taken_back(shop, first_spark):
    shop.write("profiles.yml", UNOPTIMIZED)
    shop.model("windows", WINDOWS)
    shop.model("totals", SUMS)
    shop.send(*(minute(number) for number in range(10)))
    built(shop.root, first_spark)
    before = table_rows(shop.root, "model.totals")
    shop.model("windows", WINDOWS.replace("1 minute", "2 minutes"))
    _, events = built(shop.root, first_spark, intent=Apply({NodeId("model", "totals"): ("kind",)}))
    assert [comparison.less for comparison in compared(events)] == [
        "it reads windows, which is rebuilt as well"
    ]
    assert table_rows(shop.root, "model.totals") == before
    with pytest.raises(MillstreamError, match="MS888"):
        went_back(shop, first_spark)
    # Going back means rebuilding the older version.
    shop.model("windows", WINDOWS)
    results, _ = built(shop.root, first_spark, intent=ANY)
    assert set(statuses(results).values()) == {"success"}
    assert table_rows(shop.root, "model.totals") == before


@pytest.mark.long
def test_a_table_in_a_database_is_compared_and_taken_back(shop, first_spark, database):
    shop.write("profiles.yml", database.profiles())
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))
    built(shop.root, first_spark)
    shop.model("totals", MOST)
    shop.send(event(4, value=1.0))
    _, events = built(shop.root, first_spark, intent=ANY)
    assert compared(events) == [TableCompared(NodeId("model", "totals"), ("events",), 2)]
    query = 'select "user", total, events from totals order by 1'
    assert database.rows(query) == [("a", 3.0, 3), ("b", 1.0, 1)]
    went_back(shop, first_spark)
    assert database.rows(query) == [("a", 5.0, 2), ("b", 1.0, 1)]
    shop.model("totals", TOTALS)
    built(shop.root, first_spark)
    assert database.rows(query) == [("a", 6.0, 3), ("b", 1.0, 1)]
    assert database.rows("select relation from millstream_batches") == [("model.totals",)]


EVERY = int(os.environ.get("MILLSTREAM_KILLS_STEP", "1"))
"""Which steps of an apply, and of its way back, it is killed at."""


class KilledError(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


def killing(monkeypatch, number):
    """End the process at one of the steps that change something for good; return how many were begun."""
    begun = []

    def step(function):
        @functools.wraps(function)
        def wrapped(*arguments, **named):
            begun.append(function.__name__)
            if len(begun) == number:
                raise KilledError(function.__name__)
            return function(*arguments, **named)

        return wrapped

    for owner, names in ((LocalFiles, ("write", "remove")), (Tables, ("create", "copy", "swap", "drop"))):
        for name in names:
            monkeypatch.setattr(owner, name, step(getattr(owner, name)))
    return begun


@pytest.mark.long
def test_killed_at_any_step_and_called_again_it_comes_to_its_end(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))
    built(shop.root, first_spark)
    number, seen = 1, set()
    while True:
        shop.model("totals", MOST)
        with pytest.MonkeyPatch.context() as patch:
            steps = killing(patch, number)
            ended = not dies(lambda: built(shop.root, first_spark, intent=ANY))
        seen.update(steps)
        applied = len(steps) >= number
        assert totals(shop) in ({"a": (5.0, 2), "b": (1.0, 1)}, {"a": (3.0, 2), "b": (1.0, 1)})
        results, _ = built(shop.root, first_spark, intent=ANY)
        assert statuses(results) == {"totals": "success"}
        assert totals(shop) == {"a": (3.0, 2), "b": (1.0, 1)}
        with pytest.MonkeyPatch.context() as patch:
            steps = killing(patch, number)
            dies(lambda: went_back(shop, first_spark))
        seen.update(steps)
        if len(steps) >= number and applies(shop):
            went_back(shop, first_spark)
        assert totals(shop) == {"a": (5.0, 2), "b": (1.0, 1)}
        shop.model("totals", TOTALS)
        results, _ = built(shop.root, first_spark)
        assert statuses(results) == {"totals": "success"}
        if ended and len(steps) < number:
            break
        number += EVERY
    assert applied is False
    assert {"write", "remove", "swap", "drop", "copy"} <= seen


def applies(shop):
    """Tell whether there is something left to take back."""
    return bool(list((shop.root / ".millstream").glob("*/checkpoints/applied.json")))


def dies(work):
    try:
        work()
    except KilledError:
        return True
    return False
