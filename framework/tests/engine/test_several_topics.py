"""A source of several topics: they are read as one, and a topic that is added is read from its start."""

import pytest
from engine.test_handover import applied
from support.running import running
from support.runs import built, create_topics, errors, headers, received, statuses, table_rows
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project
from millstream.deploy.matched_topics import match_job
from millstream.deploy.planning.intents import Apply, FullRefresh
from millstream.deploy.values import Job
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import cluster_of
from millstream.ops.lag import topic_lags
from millstream.project.folders import checkpoints_of
from millstream.project.load import load_project
from millstream.queries.topology import compiled_topology, physical_of

pytestmark = SPARK_WARNINGS

COPY = """
    {{ config(materialized='sink', topic='copies') }}
    select id, _topic as region from {{ source('web', 'events') }}
"""
TOTALS = """
    {{ config(materialized='table', unique_key='region') }}
    select _topic as region, count(*) as events from {{ source('web', 'events') }} group by _topic
"""


def of_topics(shop, *topics, **more):
    shop.source(topics=f"[{', '.join(topics)}]", on_bad_record="dead_letter", **more)


@pytest.fixture
def regions(shop):
    of_topics(shop, "eu", "us")
    shop.model("copy", COPY)
    shop.model("totals", TOTALS)
    return shop


def totals(shop):
    if not (shop.root / ".millstream/local/tables/totals/_delta_log").exists():
        return {}
    return {row["region"]: row["events"] for row in table_rows(shop.root, "model.totals")}


def copies(shop):
    return sorted((row["id"], row["region"]) for row in shop.values("copies"))


def origins(shop):
    """Return the topics and offsets of the records that have dead letters."""
    letters = [headers(record) for record in received(shop.bootstrap, "events.dead_letter")]
    return sorted((letter["millstream.topic"], int(letter["millstream.offset"])) for letter in letters)


def lags(shop):
    compiled = compile_project(shop.root)
    project = load_project(shop.root, None, None, None)
    admin = admin_of(cluster_of(project.target, shop.bootstrap, project.root))
    job = Job(project, topology := compiled_topology(compiled), physical_of(topology))
    queries = match_job(job, admin).physical.queries
    lags = topic_lags(admin, project, queries, checkpoints_of(project.target, shop.root))
    return {(lag.query, lag.topic): lag.records for lag in lags}


def test_builds_read_all_of_them_and_a_topic_that_is_added(regions, first_spark):
    shop = regions
    create_topics(shop.bootstrap, "eu", "us", "asia", partitions=1)
    shop.send(event(0), ("a", "no JSON"), event(1), topic="eu")
    shop.send(("a", "no JSON"), event(2), topic="us")
    shop.send(event(7), ("a", "no JSON"), topic="asia")
    results, events = built(shop.root, first_spark)
    assert (errors(events), statuses(results)) == ([], {"copy": "success", "totals": "success"})
    assert totals(shop) == {"eu": 2, "us": 1}
    assert copies(shop) == [(0, "eu"), (1, "eu"), (2, "us")]
    assert origins(shop) == [("eu", 1), ("us", 0)]
    shop.send(event(3), topic="us")
    assert lags(shop) == {(q, t): n for q in ("events_topics", "totals") for t, n in (("eu", 0), ("us", 1))}
    built(shop.root, first_spark)
    assert totals(shop) == {"eu": 2, "us": 2}
    of_topics(shop, "eu", "asia", "us")
    results, events = built(shop.root, first_spark)
    assert (errors(events), statuses(results)) == ([], {"copy": "success", "totals": "success"})
    assert totals(shop) == {"eu": 2, "us": 2, "asia": 1}
    assert copies(shop) == [(0, "eu"), (1, "eu"), (2, "us"), (3, "us"), (7, "asia")]
    assert origins(shop) == [("asia", 1), ("eu", 1), ("us", 0)]
    built(shop.root, first_spark, intent=FullRefresh())
    assert totals(shop) == {"eu": 2, "us": 2, "asia": 1}
    assert origins(shop) == [("asia", 1), ("eu", 1), ("us", 0)]


@pytest.mark.long
def test_a_topic_is_added_to_a_run_and_is_refused_to_leave_it(regions, first_spark):
    shop = regions
    create_topics(shop.bootstrap, "eu", "us", "asia", partitions=2)
    shop.send(event(0), ("a", "no JSON"), topic="eu")
    shop.send(event(1), ("a", "no JSON"), topic="asia")
    with running(shop.root, first_spark) as run:
        run.until(lambda: totals(shop) == {"eu": 1})
        run.until(lambda: {"eu", "us"} <= {t for status in run.totals.all() for t in status.lag})
        of_topics(shop, "eu", "us", "asia")
        assert set(applied(shop, Apply()).replaced) == {"events_topics", "totals"}
        run.until(lambda: totals(shop) == {"eu": 1, "asia": 1})
        shop.send(event(2), topic="us")
        run.until(lambda: totals(shop) == {"eu": 1, "asia": 1, "us": 1})
    with running(shop.root, first_spark) as run:
        shop.send(event(3), topic="us")
        run.until(lambda: totals(shop) == {"eu": 1, "asia": 1, "us": 2})
        run.until(lambda: len(copies(shop)) == 4)
    assert copies(shop) == [(0, "eu"), (1, "asia"), (2, "us"), (3, "us")]
    assert len(origins(shop)) == 2
    of_topics(shop, "us", "asia")
    _, events = built(shop.root, first_spark)
    assert "it reads the topics us, asia instead of the topics eu, us, asia" in str(errors(events))
    _, events = built(shop.root, first_spark, intent=FullRefresh())
    assert (errors(events), totals(shop)) == ([], {"us": 2, "asia": 1})
