"""Runs that share a target keep to the topics that they began with."""

import pytest
from engine.test_shared_runs import SINK, rows_of, shared
from support.runs import create_topics
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.deploy.values import DiagnosticEvent

pytestmark = SPARK_WARNINGS


@pytest.mark.long
def test_topics_that_appear_are_read_by_a_run_that_is_started_again(shop, first_spark):
    shop.source(topic_pattern="events_.*")
    shop.model("plain", SINK)
    create_topics(shop.bootstrap, "events_eu", "other", partitions=1)
    shop.send(event(1), topic="events_eu")
    with shared(shop, first_spark, "plain") as one:
        one.until(lambda: rows_of(one, "events_topics") == 1)
        create_topics(shop.bootstrap, "events_us", partitions=1)
        shop.send(event(2), topic="events_us")
        one.until(lambda: one.of(DiagnosticEvent))
        (reported,) = (event.diagnostic for event in one.of(DiagnosticEvent))
        assert (reported.code, reported.severity) == ("MS616", "warning")
        assert reported.message.startswith("'events_us' appeared")
        assert reported.help == "start this run again: it reads them from their start"
    with shared(shop, first_spark, "plain") as again:
        again.until(lambda: rows_of(again, "events_topics") == 1)
    assert [row["id"] for row in shop.values("plain")] == [1, 2]
