"""Models without state that are rebuilt: their records are computed again from the start of their topics."""

import pytest
from support.running import running
from support.runs import built, headers, job_of, received, statuses
from support.shops import UNOPTIMIZED, event
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.engine import start_engine
from millstream.deploy.planning.intents import FullRefresh, Update
from millstream.deploy.stages.rebuild import begin_rebuild
from millstream.deploy.values import QueryRunning
from millstream.engine.queries.start import start_query

pytestmark = SPARK_WARNINGS

SINK = """
    {{{{ config(materialized='sink', {}) }}}} select id, kind from {{{{ source('web', 'events') }}}}
"""
PLAIN = SINK.format("")
KEYED = SINK.format("key='id'")
TABLE = """
    {{ config(materialized='table', unique_key='id') }} select id, kind from {{ source('web', 'events') }}
"""
COUNTS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, count(*) as events from {{ ref('plain') }} group by kind
"""


def rebuild(*models):
    return Update(frozenset(NodeId("model", model) for model in models))


def ids(shop, topic):
    return sorted(row["id"] for row in shop.values(topic))


def read(results):
    return {result.id.partition(".")[2]: result.rows_read for result in results.results}


@pytest.fixture
def shop_of_three(shop):
    shop.send(event(1), event(2, "b"), event(3, "c"))
    return shop


@pytest.mark.parametrize("options", ["", "key='id'"], ids=["without key", "with key"])
def test_a_sink_is_computed_again_from_the_start_of_its_topics(shop_of_three, first_spark, options):
    shop = shop_of_three
    shop.model("plain", SINK.format(options))
    built(shop.root, first_spark)
    results, _ = built(shop.root, first_spark, intent=rebuild("plain"))
    assert (statuses(results), read(results)) == ({"plain": "success"}, {"plain": 3})
    assert ids(shop, "plain") == [1, 1, 2, 2, 3, 3]
    batches = {
        headers(message)["millstream.batch"].rpartition("/")[0]
        for message in received(shop.bootstrap, "plain")
    }
    assert len(batches) == 2  # a rebuild's records have another checkpoint
    shop.send(event(4))
    assert read(built(shop.root, first_spark)[0]) == {"plain": 1}
    assert ids(shop, "plain") == [1, 1, 2, 2, 3, 3, 4]


def test_sinks_that_share_a_query_are_rebuilt_one_by_one(shop_of_three, first_spark):
    shop = shop_of_three
    for name in ("one", "two", "three"):
        shop.model(name, PLAIN)
    built(shop.root, first_spark)
    assert len(job_of(shop.root).physical.queries) == 1
    built(shop.root, first_spark, intent=rebuild("two"))
    assert (ids(shop, "one"), ids(shop, "two")) == ([1, 2, 3], [1, 1, 2, 2, 3, 3])
    built(shop.root, first_spark, intent=rebuild("one", "three"))
    assert [len(ids(shop, name)) for name in ("one", "two", "three")] == [6, 6, 6]
    shop.send(event(4))
    built(shop.root, first_spark)
    assert [len(ids(shop, name)) for name in ("one", "two", "three")] == [7, 7, 7]
    built(shop.root, first_spark, intent=rebuild("one", "two", "three"))
    assert [len(ids(shop, name)) for name in ("one", "two", "three")] == [11, 11, 11]


def test_a_sink_next_to_a_table_or_an_aggregate_is_rebuilt_alone(shop_of_three, first_spark):
    shop = shop_of_three
    shop.model("plain", PLAIN)
    shop.model("stored", TABLE)
    shop.model("counted", COUNTS.replace("ref('plain')", "source('web', 'events')"))
    built(shop.root, first_spark)
    results, _ = built(shop.root, first_spark, intent=rebuild("plain"))
    assert read(results)["plain"] == 3
    assert {name: count for name, count in read(results).items() if name != "plain"} == {
        "stored": 0,
        "counted": 0,
    }
    assert ids(shop, "plain") == [1, 1, 2, 2, 3, 3]


def test_all_sinks_of_a_view_are_rebuilt_with_it(shop_of_three, first_spark):
    shop = shop_of_three
    shop.model("seen", "select id, kind from {{ source('web', 'events') }} where id > 1")
    for name in ("one", "two"):
        shop.model(name, "{{ config(materialized='sink') }} select id from {{ ref('seen') }}")
    built(shop.root, first_spark)
    built(shop.root, first_spark, intent=rebuild("seen"))
    assert [ids(shop, name) for name in ("one", "two")] == [[2, 2, 3, 3]] * 2


@pytest.mark.parametrize("optimization", ["all", "none"])
def test_sinks_that_share_a_read_with_others_are_rebuilt(shop_of_three, first_spark, optimization):
    """One is the guest of the other query's read of the topic."""
    shop = shop_of_three
    if optimization == "none":
        shop.write("profiles.yml", UNOPTIMIZED)
    shop.model("plain", PLAIN)
    shop.model("keyed", KEYED)
    shop.model("counted", COUNTS.replace("ref('plain')", "source('web', 'events')"))
    built(shop.root, first_spark)
    built(shop.root, first_spark, intent=rebuild("plain", "keyed"))
    assert [ids(shop, name) for name in ("plain", "keyed")] == [[1, 1, 2, 2, 3, 3]] * 2


def test_what_counts_its_records_is_rebuilt_with_a_sink(shop_of_three, first_spark):
    shop = shop_of_three
    shop.write("profiles.yml", UNOPTIMIZED)
    shop.model("plain", PLAIN)
    shop.model("counted", COUNTS)
    built(shop.root, first_spark)
    with pytest.raises(MillstreamError, match="MS882"):
        built(shop.root, first_spark, intent=rebuild("plain"))
    assert ids(shop, "plain") == [1, 2, 3]


def test_a_full_refresh_sends_the_records_again(shop_of_three, first_spark):
    shop = shop_of_three
    shop.model("one", PLAIN)
    shop.model("two", PLAIN)
    built(shop.root, first_spark)
    results, _ = built(shop.root, first_spark, intent=FullRefresh(), models=frozenset({"model.one"}))
    assert read(results)["one"] == 3
    assert (ids(shop, "one"), ids(shop, "two")) == ([1, 1, 2, 2, 3, 3], [1, 2, 3])


def test_a_rebuild_before_the_first_build_is_that_build(shop_of_three, first_spark):
    shop = shop_of_three
    shop.model("plain", PLAIN)
    built(shop.root, first_spark, intent=rebuild("plain"))
    assert ids(shop, "plain") == [1, 2, 3]


def test_a_rebuild_of_a_sink_that_was_killed_goes_on(shop_of_three, first_spark):
    shop = shop_of_three
    shop.model("plain", PLAIN)
    built(shop.root, first_spark)
    job = job_of(shop.root, intent=rebuild("plain"))
    with start_engine(
        job, job.physical.queries, shop.root / ".millstream", lambda _: None, first_spark
    ) as running:
        (query,) = job.physical.queries
        streaming = start_query(running.spark, *begin_rebuild(running, query), availableNow=True)
        streaming.awaitTermination()
    shop.send(event(4))
    built(shop.root, first_spark)  # the running version goes on
    assert ids(shop, "plain") == [1, 1, 2, 2, 3, 3, 4]
    results, _ = built(shop.root, first_spark, intent=rebuild("plain"))
    assert read(results) == {"plain": 1}


def test_dead_letters_are_not_sent_twice_by_a_rebuild(shop_of_three, first_spark):
    shop = shop_of_three
    shop.source(on_bad_record="dead_letter")
    shop.model("plain", PLAIN)
    shop.send(("a", "no JSON"))
    built(shop.root, first_spark)
    built(shop.root, first_spark, intent=rebuild("plain"))
    assert ids(shop, "plain") == [1, 1, 2, 2, 3, 3]
    assert len(received(shop.bootstrap, "events.dead_letter")) == 1


def test_an_edit_that_leaves_old_records_is_rebuilt(shop_of_three, first_spark):
    shop = shop_of_three
    shop.model("keyed", KEYED)
    built(shop.root, first_spark)
    shop.model("keyed", KEYED.replace("id, kind", "id, upper(kind) as kind"))
    built(shop.root, first_spark, intent=rebuild("keyed"))
    assert [row["kind"] for row in shop.values("keyed")] == ["x", "x", "x", "X", "X", "X"]


@pytest.mark.parametrize(
    "options",
    [pytest.param("", id="rows", marks=pytest.mark.long), pytest.param(", emit='changes'", id="changes")],
)
@pytest.mark.long
def test_a_sink_that_follows_a_table_sends_all_rows_of_it_again(shop_of_three, first_spark, options):
    shop = shop_of_three
    shop.model("counted", COUNTS.replace("ref('plain')", "source('web', 'events')"))
    shop.model(
        "out",
        "{{ config(materialized='sink', key='kind'"
        + options
        + ") }} select kind, events from {{ ref('counted') }}",
    )
    built(shop.root, first_spark)
    shop.send(event(4, kind="y"))
    built(shop.root, first_spark)
    before = len(shop.values("out"))
    built(shop.root, first_spark, intent=rebuild("out"))
    again = [row.get("after") or row for row in shop.values("out")[before:]]
    assert sorted((row["kind"], row["events"]) for row in again) == [("x", 3), ("y", 1)]
    built(shop.root, first_spark)
    assert len(shop.values("out")) == before + 2


def test_a_sink_that_sends_once_is_rebuilt(shop_of_three, first_spark):
    shop = shop_of_three
    shop.model("plain", SINK.format("guarantee='exactly_once'"))
    built(shop.root, first_spark)
    built(shop.root, first_spark, intent=rebuild("plain"))
    shop.send(event(4))
    built(shop.root, first_spark)
    assert ids(shop, "plain") == [1, 1, 2, 2, 3, 3, 4]


@pytest.mark.long
def test_a_run_rebuilds_a_sink_while_others_go_on(shop_of_three, first_spark):
    shop = shop_of_three
    shop.model("plain", PLAIN)
    shop.model("other", PLAIN)
    built(shop.root, first_spark)
    with running(shop.root, first_spark, intent=rebuild("plain")) as run:
        run.until(
            lambda: (
                [
                    started.rebuilding
                    for started in run.of(QueryRunning)
                    if started.query.stored == {"model.plain": "plain"}
                ]
                == [True, False]
            )
        )
        shop.send(event(4))
        run.until(lambda: 4 in ids(shop, "plain") and 4 in ids(shop, "other"))
    assert (ids(shop, "plain"), ids(shop, "other")) == ([1, 1, 2, 2, 3, 3, 4], [1, 2, 3, 4])
