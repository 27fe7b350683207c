"""Each record that a source can't decode becomes one dead letter, whichever queries read it, and when."""

from collections import Counter

import pytest
from support.running import running
from support.runs import built, errors, headers, received, statuses
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import FullRefresh, Update

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

SINK = "{{ config(materialized='sink') }} "
EVENTS = "from {{ source('web', 'events') }}"
PLAIN = SINK + f"select id, value {EVENTS}"
HALVES = SINK + f"select id, 1 / (value - 7) as half {EVENTS}"


@pytest.fixture
def letters_shop(shop):
    shop.source(on_bad_record="dead_letter")
    return shop


def bad(number):
    return ("b", f"no JSON {number}")


def letters(shop):
    """Return how many letters each record has, by its offset."""
    letter_headers = [headers(record) for record in received(shop.bootstrap, "events.dead_letter")]
    assert all(letter["millstream.topic"] == "events" for letter in letter_headers)
    return Counter(int(letter["millstream.offset"]) for letter in letter_headers)


def test_a_query_that_comes_or_goes_sends_no_letter_again(letters_shop, first_spark):
    shop = letters_shop
    shop.model("totals", TOTALS)
    shop.send(event(0), bad(1), event(2), bad(3))
    built(shop.root, first_spark)
    assert letters(shop) == {1: 1, 3: 1}, "all models of the source keep state"
    shop.model("plain", PLAIN)
    shop.send(bad(4), event(5))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert letters(shop) == {1: 1, 3: 1, 4: 1}, "another query sends them now"
    shop.send(bad(6))
    built(shop.root, first_spark, intent=Update(frozenset({NodeId("model", "totals")})))
    assert letters(shop) == dict.fromkeys((1, 3, 4, 6), 1)
    (shop.root / "models/plain.sql").unlink()
    shop.send(bad(7))
    built(shop.root, first_spark)
    assert letters(shop) == dict.fromkeys((1, 3, 4, 6, 7), 1)
    built(shop.root, first_spark, intent=FullRefresh())
    assert letters(shop) == dict.fromkeys((1, 3, 4, 6, 7), 1)
    assert sorted(row["id"] for row in shop.values("plain")) == [0, 2, 5]


def test_a_batch_that_is_run_again_without_a_model_sends_no_letter_again(letters_shop, first_spark):
    shop = letters_shop
    shop.model("plain", PLAIN)
    shop.model("halves", HALVES)
    shop.send(bad(0), event(1), bad(2), event(3, value=7.0), bad(4))
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "halves": "error"}
    assert letters(shop) == {0: 1, 2: 1, 4: 1}
    shop.model("halves", SINK + f"select id, try_divide(1, value - 7) as half {EVENTS}")
    shop.send(bad(5))
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "halves": "success"}
    assert letters(shop) == {0: 1, 2: 1, 4: 1, 5: 1}


def test_what_only_a_new_model_finds_bad_gets_its_letter(letters_shop, first_spark):
    shop = letters_shop
    shop.model("plain", SINK + f"select id {EVENTS}")
    shop.send(("a", {"id": 0, "value": "none"}), bad(1), event(2))
    built(shop.root, first_spark)
    assert letters(shop) == {1: 1}
    shop.model("values", SINK + f"select id, value {EVENTS}")
    built(shop.root, first_spark)
    assert [row["id"] for row in shop.values("values")] == [2]
    assert letters(shop) == {0: 1, 1: 1}
    built(shop.root, first_spark)
    assert letters(shop) == {0: 1, 1: 1}


def test_a_query_that_begins_later_leaves_no_record_without_a_letter(letters_shop, first_spark):
    shop = letters_shop
    shop.source(on_bad_record="dead_letter", starting="latest")
    shop.send(bad(0))
    shop.model("totals", TOTALS)
    built(shop.root, first_spark)
    shop.send(bad(1), event(2))
    built(shop.root, first_spark)
    assert letters(shop) == {1: 1}
    shop.send(bad(3), event(4))
    shop.model("plain", SINK + f"select value {EVENTS}")
    built(shop.root, first_spark)
    assert letters(shop) == {1: 1, 3: 1}
    assert shop.values("plain") == []


def test_a_run_that_is_started_again_sends_no_letter_again(letters_shop, first_spark):
    shop = letters_shop
    shop.model("totals", TOTALS)
    shop.send(bad(0), event(1))
    with running(shop.root, first_spark) as run:
        run.until(lambda: letters(shop) == {0: 1})
        shop.send(bad(2))
        run.until(lambda: letters(shop) == {0: 1, 2: 1})
    shop.model("plain", PLAIN)
    shop.send(bad(3))
    with running(shop.root, first_spark) as run:
        shop.send(bad(4), event(5))
        run.until(lambda: 5 in [row["id"] for row in shop.values("plain")])
        run.until(lambda: letters(shop) == {0: 1, 2: 1, 3: 1, 4: 1})
    with running(shop.root, first_spark) as run:
        shop.send(bad(6), event(7))
        run.until(lambda: 7 in [row["id"] for row in shop.values("plain")])
    assert letters(shop) == dict.fromkeys((0, 2, 3, 4, 6), 1)


def sent(events):
    """Return how many dead letters each query counted that stores no model."""
    outcomes = [event.result for event in events if hasattr(event, "result")]
    return {o.query: dict(o.counts.dead_letters) for o in outcomes if o.counts.dead_letters}


def test_a_selection_sends_the_letters_of_what_it_reads(letters_shop, first_spark):
    shop, source = letters_shop, "source.web.events"
    shop.model("totals", TOTALS)
    shop.send(event(0), bad(1))
    _, events = built(shop.root, first_spark, models=frozenset({"model.totals"}))
    assert (letters(shop), sent(events)) == ({1: 1}, {"events_dead_letters": {source: 1}})
    shop.model("plain", PLAIN)
    shop.send(bad(2), event(3))
    _, events = built(shop.root, first_spark, models=frozenset({"model.totals"}))
    assert (letters(shop), sent(events)) == ({1: 1}, {}), (
        "the query of 'plain', which is not selected, sends them"
    )
    _, events = built(shop.root, first_spark)
    assert (letters(shop), sent(events)) == ({1: 1, 2: 1}, {"events_topics": {source: 1}})
