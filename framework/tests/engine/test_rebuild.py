"""Models that are rebuilt alongside the running version, and swapped, on Kafka, Spark and Delta."""

import json

import pytest
from deltalake import DeltaTable
from support.running import running
from support.runs import built, job_of, received, statuses, table_rows
from support.shops import SUMS, TOTALS, UNOPTIMIZED, WINDOWS, event, minute
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import checkpoint_folder
from millstream.deploy.checkpoints.swap import begin_swap
from millstream.deploy.engine import start_engine
from millstream.deploy.planning.intents import Regroup, Update
from millstream.deploy.stages.rebuild import begin_rebuild
from millstream.deploy.values import BatchCompleted, QueryRunning
from millstream.engine.queries.start import start_query

pytestmark = SPARK_WARNINGS

REBUILD = Update(frozenset({NodeId("model", "totals")}))


def totals(shop):
    return {row["user"]: row["total"] for row in table_rows(shop.root, "model.totals")}


def folders(shop):
    """Return the names of what is kept for the query."""
    return sorted(path.name for path in (shop.root / ".millstream").glob("*/checkpoints/totals/*"))


@pytest.mark.long
def test_what_its_state_does_not_fit_is_rebuilt_and_goes_on(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("sum(", "max("))
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"totals": "error"}
    assert totals(shop) == {"a": 5.0, "b": 1.0}
    results, _ = built(shop.root, first_spark, intent=REBUILD)
    assert statuses(results) == {"totals": "success"}
    assert totals(shop) == {"a": 3.0, "b": 1.0}
    shop.send(event(4, value=7.0), event(5, "c"))
    results, _ = built(shop.root, first_spark)
    assert [result.rows_read for result in results.results] == [2]
    assert totals(shop) == {"a": 7.0, "b": 1.0, "c": 1.0}
    assert [name.partition("-")[0] for name in folders(shop)] == ["millstream.json", "spark", "state.json"]
    assert "rebuild.json" not in folders(shop)


@pytest.mark.long
def test_keys_that_are_gone_are_deleted_and_others_left_alone(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, kind="y"), event(2, "b"), event(3, "c"))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace(" group by", " where kind = 'x' group by"))
    built(shop.root, first_spark, intent=REBUILD)
    assert totals(shop) == {"b": 1.0, "c": 1.0}
    (path,) = (shop.root / ".millstream").glob("*/tables/totals")
    metrics = DeltaTable(path).history(1)[0]["operationMetrics"]
    # Spark and delta-rs spell them differently.
    touched = {
        name.replace("_", "").lower(): int(count) for name, count in metrics.items() if "arget" in name
    }
    assert (touched["numtargetrowsdeleted"], touched["numtargetrowsupdated"]) == (1, 0)


@pytest.mark.long
def test_a_table_gets_the_columns_of_the_model(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1), event(2))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("sum(value) as total", "count(*) as total, max(id) as last"))
    built(shop.root, first_spark, intent=REBUILD)
    assert table_rows(shop.root, "model.totals") == [{"user": "a", "total": 2, "last": 2}]


@pytest.mark.long
def test_a_rebuild_that_was_killed_goes_on_where_it_was(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("sum(", "max("))
    half_done(shop, first_spark)
    assert totals(shop) == {"a": 5.0}
    shop.send(event(3, value=4.0))
    results, _ = built(shop.root, first_spark, intent=REBUILD)
    assert [result.rows_read for result in results.results] == [1]
    assert totals(shop) == {"a": 4.0}


@pytest.mark.long
def test_another_edit_makes_a_half_done_rebuild_useless(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("sum(", "max("))
    half_done(shop, first_spark)
    shop.model("totals", TOTALS.replace("sum(", "min("))
    results, _ = built(shop.root, first_spark, intent=REBUILD)
    assert [result.rows_read for result in results.results] == [2]
    assert totals(shop) == {"a": 2.0}


@pytest.mark.long
def test_a_swap_that_has_begun_is_ended_whatever_the_model_says_by_then(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("sum(", "max("))
    half_done(shop, first_spark, swapping=True)
    shop.model("totals", TOTALS)  # as it was before
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"totals": "error"}
    assert totals(shop) == {"a": 3.0}


def half_done(shop, spark, *, swapping=False):
    """Rebuild totals as far as a process does that is killed before the swap, or within it."""
    job = job_of(shop.root, intent=REBUILD)
    with start_engine(job, job.physical.queries, shop.root / ".millstream", lambda _: None, spark) as going:
        (query,) = job.physical.queries
        rebuilt_query, around = begin_rebuild(going, query)
        streaming = start_query(going.spark, rebuilt_query, around, availableNow=True)
        streaming.awaitTermination()
        if swapping:
            begin_swap(going.files, checkpoint_folder(going.checkpoints, query.name))


@pytest.mark.long
def test_a_run_rebuilds_first_while_others_go_on(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model("plain", "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}")
    shop.send(event(1, value=2.0), event(2, value=3.0))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("sum(", "max("))
    with running(shop.root, first_spark, intent=REBUILD) as run:
        run.until(
            lambda: (
                [started.rebuilding for started in run.of(QueryRunning) if started.query.name == "totals"]
                == [True, False]
            )
        )
        shop.send(event(3, value=9.0))
        run.until(lambda: rows_after_the_swap(run) and totals(shop) == {"a": 9.0})
    assert [row["id"] for row in shop.values("plain")] == [1, 2, 3]


def rows_after_the_swap(run):
    swapped = next(
        i for i, event in enumerate(run.events) if isinstance(event, QueryRunning) and not event.rebuilding
    )
    return [
        event
        for event in run.events[swapped:]
        if isinstance(event, BatchCompleted) and event.query == "totals"
    ]


@pytest.mark.long
def test_who_counts_the_rows_of_what_is_rebuilt_must_be_rebuilt_too(shop, first_spark):
    shop.write("profiles.yml", UNOPTIMIZED)
    shop.model("windows", WINDOWS)
    shop.model("totals", SUMS)
    shop.send(*(minute(number) for number in range(10)))
    built(shop.root, first_spark)
    before = table_rows(shop.root, "model.totals")
    with pytest.raises(MillstreamError, match="MS882"):
        built(shop.root, first_spark, intent=Update(frozenset({NodeId("model", "windows")})))
    built(
        shop.root,
        first_spark,
        intent=Update(frozenset({NodeId("model", "windows"), NodeId("model", "totals")})),
    )
    assert table_rows(shop.root, "model.totals") == before
    sent = [json.loads(message.value())["minute"] for message in received(shop.bootstrap, "windows")]
    assert len(sent) == 2 * len(set(sent)) > 0


COUNTS = """
    {{ config(materialized='table', unique_key='user') }}
    select user, count(*) as events from {{ source('web', 'events') }} group by user
"""


@pytest.mark.long
def test_a_model_that_came_later_is_brought_into_the_group(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, "b"))
    built(shop.root, first_spark)
    shop.model("counts", COUNTS)
    built(shop.root, first_spark)
    assert len(job_of(shop.root).physical.queries) == 2
    before = totals(shop), table_rows(shop.root, "model.counts")
    results, _ = built(shop.root, first_spark, intent=Regroup())
    assert set(statuses(results).values()) == {"success"}
    (group,) = job_of(shop.root).physical.queries
    assert set(group.models) == {"model.counts", "model.totals"}
    key = lambda row: row["user"]  # noqa: E731
    assert totals(shop) == before[0]
    assert sorted(table_rows(shop.root, "model.counts"), key=key) == sorted(before[1], key=key)
    shop.send(event(3, value=1.0))
    results, _ = built(shop.root, first_spark)
    assert {result.rows_read for result in results.results} == {1}
    assert totals(shop) == {"a": 3.0, "b": 1.0}
    assert [path.name for path in (shop.root / ".millstream").glob("*/checkpoints/*/")] == [group.name]


@pytest.mark.long
def test_a_table_in_a_database_is_swapped_under_its_readers(shop, first_spark, database):
    shop.write("profiles.yml", database.profiles())
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))
    built(shop.root, first_spark)
    database.rows("create view seen as select total from totals")
    shop.model("totals", TOTALS.replace("sum(", "max("))
    shop.send(event(4, "b", value=4.0))
    results, _ = built(shop.root, first_spark, intent=REBUILD)
    assert statuses(results) == {"totals": "success"}
    assert database.rows("select total from seen order by 1") == [(3.0,), (4.0,)]
    shop.send(event(5, value=9.0))
    results, _ = built(shop.root, first_spark)
    assert [result.rows_read for result in results.results] == [1]
    assert database.rows('select "user", total from totals order by 1') == [("a", 9.0), ("b", 4.0)]
    assert database.rows("select relation from millstream_batches") == [("model.totals",)]


@pytest.mark.long
def test_a_table_in_a_database_gets_the_columns_of_the_model(shop, first_spark, database):
    shop.write("profiles.yml", database.profiles())
    shop.model("totals", TOTALS)
    shop.send(event(1), event(2))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("sum(value) as total", "count(*) as total, max(id) as last"))
    built(shop.root, first_spark, intent=REBUILD)
    assert database.rows('select "user", total, last from totals') == [("a", 2, 2)]
