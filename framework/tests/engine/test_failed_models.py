"""A model that fails on its own, in a query with others, on Kafka and Spark."""

import json

import pytest
from support.running import running
from support.runs import built, received, statuses
from support.shops import UNOPTIMIZED, event
from support.spark import SPARK_WARNINGS

from millstream.deploy.values import BatchCompleted, LeftOut, QueryFailed

pytestmark = SPARK_WARNINGS

SINK = "{{ config(materialized='sink') }} "
EVENTS = "from {{ source('web', 'events') }}"
HALVES = SINK + f"select id, 1 / (value - 7) as half {EVENTS}"
MENDED = SINK + f"select id, try_divide(1, value - 7) as half {EVENTS}"


def ids(shop, topic):
    """Return what came; a batch that failed half-way is sent again, as headers tell."""
    return sorted({row["id"] for row in shop.values(topic)})


@pytest.mark.long
def test_the_others_are_built_and_it_gets_its_records_when_it_is_mended(shop, first_spark):
    shop.model("plain", SINK + f"select id {EVENTS}")
    shop.model("halves", HALVES)
    shop.send(event(1), event(2))
    built(shop.root, first_spark)
    shop.send(event(3), event(4, value=7.0))
    results, events = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "halves": "error"}
    (left_out,) = (event for event in events if isinstance(event, LeftOut))
    assert (left_out.model, left_out.diagnostic.code) == ("model.halves", "MS868")
    location, line = left_out.diagnostic.location, left_out.diagnostic.line
    assert (location.path, line[location.column - 1 : location.end - 1]) == (
        "models/halves.sql",
        "1 / (value - 7",
    )
    shop.send(event(5))
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "halves": "error"}
    assert ids(shop, "plain") == [1, 2, 3, 4, 5]
    assert ids(shop, "halves") in ([1, 2], [1, 2, 3])
    shop.model("halves", MENDED)
    shop.send(event(6))
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "halves": "success"}
    assert ids(shop, "halves") == [1, 2, 3, 4, 5, 6]
    assert ids(shop, "plain") == [1, 2, 3, 4, 5, 6]


@pytest.mark.long
def test_what_reads_it_is_skipped(shop, first_spark):
    shop.write("profiles.yml", UNOPTIMIZED)
    shop.model("plain", SINK + f"select id {EVENTS}")
    shop.model("halves", HALVES)
    shop.model("last", SINK + "select id from {{ ref('halves') }}")
    shop.send(event(1, value=7.0))
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "halves": "error", "last": "skipped"}


def test_what_fails_for_all_fails_as_before(shop, first_spark):
    shop.model("plain", SINK + f"select id {EVENTS}")
    shop.model("other", SINK + f"select kind {EVENTS}")
    shop.send(("a", "not json"))
    results, events = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "error", "other": "error"}
    assert not [event for event in events if isinstance(event, LeftOut)]


@pytest.mark.long
def test_dead_letters_go_on_without_it(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.model("plain", SINK + f"select id {EVENTS}")
    shop.model("halves", HALVES)
    shop.send(event(1, value=7.0), ("a", "not json"))
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "halves": "error"}
    assert [record.value() for record in received(shop.bootstrap, "events.dead_letter")] == [b"not json"]


@pytest.mark.long
def test_a_run_goes_on_without_it_until_it_is_mended(shop, first_spark):
    shop.model("plain", SINK + f"select id {EVENTS}")
    shop.model("halves", HALVES)
    shop.send(event(1))
    with running(shop.root, first_spark) as run:
        run.until(lambda: run.of(BatchCompleted))
        shop.send(event(2, value=7.0))
        run.until(lambda: run.of(LeftOut))
        assert [event.failures for event in run.of(QueryFailed)] == [1]
        shop.send(event(3))
        run.until(lambda: ids(shop, "plain") == [1, 2, 3])
        (seen,) = run.totals.all()
        assert list(seen.left_out) == ["halves"]
    assert ids(shop, "halves") == [1]
    shop.model("halves", MENDED)
    with running(shop.root, first_spark) as run:
        run.until(lambda: ids(shop, "halves") == [1, 2, 3])
    first = json.loads(received(shop.bootstrap, "halves")[1].value())
    assert first == {"id": 2}


@pytest.mark.long
def test_a_model_that_spark_does_not_take_leaves_out_itself_alone(shop, first_spark):
    """It fails before there is a batch, and no longer blocks anything once it is fixed."""
    shop.model("plain", SINK + f"select id {EVENTS}")
    shop.model("strange", SINK + f"select id, sequence(1, 2, 'x') as number {EVENTS}")
    shop.send(event(1))
    results, events = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "strange": "error"}
    assert [event.model for event in events if isinstance(event, LeftOut)] == ["model.strange"]
    shop.model("strange", SINK + f"select id, sequence(1, 2) as number {EVENTS}")
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "strange": "success"}
    assert (ids(shop, "plain"), ids(shop, "strange")) == ([1], [1])
