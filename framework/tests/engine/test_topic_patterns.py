"""A source of all topics that match a pattern: those that appear later are read from their start."""

import json

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient
from engine.test_several_topics import copies, lags, origins, totals
from support.running import running
from support.runs import built, create_topics, errors, statuses
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.core.errors import MillstreamError
from millstream.deploy.planning.intents import FullRefresh
from millstream.runner.commands import run as runs

pytestmark = SPARK_WARNINGS

COPY = """
    {{ config(materialized='sink', topic='copies') }}
    select id, _topic as region from {{ source('web', 'events') }}
"""
WRITTEN = """
    {{ config(materialized='sink', topic='region_out') }}
    select id from {{ source('web', 'events') }}
"""
TOTALS = """
    {{ config(materialized='table', unique_key='region') }}
    select _topic as region, count(*) as events from {{ source('web', 'events') }} group by _topic
"""
BAD = ("a", "no JSON")


@pytest.fixture
def regions(shop):
    shop.source(topic_pattern="'(?:eu|us|region_.*)'", on_bad_record="dead_letter")
    shop.model("copy", COPY)
    shop.model("written", WRITTEN)
    shop.model("totals", TOTALS)
    return shop


def deleted(bootstrap, topic):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(10)
    while topic in admin.list_topics(timeout=10).topics:
        pass


def test_builds_read_all_that_match_and_those_that_appear(regions, first_spark):
    shop = regions
    with pytest.raises(MillstreamError, match=r"MS872.*no topic matches '\(\?:eu\|us\|region_\.\*\)'"):
        built(shop.root, first_spark)
    others = ("eu_2", "region_x.dead_letter", "region_x.dead_letter.handled", "_millstream.region_x")
    create_topics(shop.bootstrap, "eu", "us", *others, partitions=1)
    for topic in ("eu_2", "region_x.dead_letter", "_millstream.region_x"):
        shop.send(event(99), topic=topic)
    shop.send(event(0), BAD, event(1), topic="eu")
    shop.send(BAD, event(2), topic="us")
    results, events = built(shop.root, first_spark)
    assert (errors(events), set(statuses(results).values())) == ([], {"success"})
    assert totals(shop) == {"eu": 2, "us": 1}
    assert copies(shop) == [(0, "eu"), (1, "eu"), (2, "us")]
    assert origins(shop) == [("eu", 1), ("us", 0)]
    create_topics(shop.bootstrap, "region_asia", partitions=2)
    shop.send(BAD, event(7), topic="region_asia")
    shop.send(event(3), topic="us")
    results, events = built(shop.root, first_spark)
    assert (errors(events), set(statuses(results).values())) == ([], {"success"})
    assert totals(shop) == {"eu": 2, "us": 2, "region_asia": 1}
    assert copies(shop) == [(0, "eu"), (1, "eu"), (2, "us"), (3, "us"), (7, "region_asia")]
    assert origins(shop) == [("eu", 1), ("region_asia", 0), ("us", 0)]
    # That needs no Kafka, and a topic that appears is no change of the project.
    plan = CliRunner().invoke(millstream, ["plan", "--project-dir", str(shop.root), "--output", "json"])
    assert (plan.exit_code, json.loads(plan.stdout)["queries"]) == (0, []), plan.output
    shop.send(event(8), topic="region_asia")
    of_queries = {(query, topic) for query, topic in lags(shop)}
    assert {topic for _, topic in of_queries} == {"eu", "us", "region_asia"}
    assert {n for (_, topic), n in lags(shop).items() if topic == "region_asia"} == {1}
    built(shop.root, first_spark, intent=FullRefresh())
    assert totals(shop) == {"eu": 2, "us": 2, "region_asia": 2}
    assert origins(shop) == [("eu", 1), ("region_asia", 0), ("us", 0)]
    deleted(shop.bootstrap, "us")
    _, events = built(shop.root, first_spark)
    assert "'us' no longer exists, or no longer matches" in str(errors(events))
    _, events = built(shop.root, first_spark, intent=FullRefresh())
    assert (errors(events), totals(shop)) == ([], {"eu": 2, "region_asia": 2})


@pytest.mark.long
def test_a_run_reads_topics_that_appear(regions, first_spark, monkeypatch):
    monkeypatch.setattr(runs, "TOPICS", 0.5)
    shop = regions
    create_topics(shop.bootstrap, "eu", partitions=1)
    shop.send(event(0), BAD, topic="eu")
    with running(shop.root, first_spark) as run:
        run.until(lambda: totals(shop) == {"eu": 1})
        create_topics(shop.bootstrap, "region_asia", partitions=2)
        shop.send(event(1), BAD, event(2), topic="region_asia")
        run.until(lambda: totals(shop) == {"eu": 1, "region_asia": 2})
        shop.send(event(3), topic="eu")
        run.until(lambda: totals(shop) == {"eu": 2, "region_asia": 2})
        run.until(lambda: len(copies(shop)) == 4)
    with running(shop.root, first_spark, models=["model.totals"]) as run:
        create_topics(shop.bootstrap, "us", partitions=1)
        shop.send(event(4), topic="us")
        run.until(lambda: totals(shop) == {"eu": 2, "region_asia": 2, "us": 1})
    built(shop.root, first_spark)
    assert copies(shop) == [(0, "eu"), (1, "region_asia"), (2, "region_asia"), (3, "eu"), (4, "us")]
    assert origins(shop) == [("eu", 1), ("region_asia", 1)]
