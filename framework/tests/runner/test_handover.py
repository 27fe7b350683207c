"""`apply` while a project runs: queries are replaced between two batches, on Kafka, Spark and Delta."""

import json
from collections import Counter

import pytest
from support.running import running
from support.runs import headers, job_of, received, table_rows
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.deployment.intents import Apply
from millstream.errors import MillstreamError
from millstream.runner.handover.asking import ask
from millstream.runner.handover.channel import run_of
from millstream.runner.handover.loading import version_to_send
from millstream.runner.values import Batched, Compared

pytestmark = SPARK_WARNINGS

TOTALS = """
    {{ config(materialized='table', unique_key='user') }}
    select user, sum(value) as total, count(*) as events from {{ source('web', 'events') }} group by user
"""
MOST = TOTALS.replace("sum(value)", "max(value)")
ANY = Apply({"model.totals": ("user", "events")})
EVENTS = "{{ config(materialized='sink') }} select id, value from {{ source('web', 'events') }}"
KINDS = """
    {{ config(materialized='sink', key='kind') }}
    select kind, count(*) as events from {{ source('web', 'events') }} group by kind
"""


def applied(shop, intent=ANY, tell=lambda _: None):
    """Apply the project on disk to its run, or roll back without an intent."""
    job = job_of(shop.root)
    found = run_of(job.project.target, shop.root)
    assert found is not None
    return ask(found, version_to_send(job.project, job.manifest, None, None, tests=True), intent, tell)


def totals(shop):
    return {row["user"]: (row["total"], row["events"]) for row in table_rows(shop.root, "model.totals")}


def has_read(run, query, count):
    return sum(each.batch.rows for each in run.of(Batched) if each.query == query) >= count


def once(shop, topic):
    """Return the values of a topic by their header; no header comes twice."""
    found = received(shop.bootstrap, topic)
    marks = Counter((each.key(), tuple(sorted(headers(each).items()))) for each in found)
    assert set(marks.values()) <= {1}, marks.most_common(3)
    return [json.loads(each.value()) for each in found]


def newest(shop, topic):
    return {each.key(): json.loads(each.value()) for each in received(shop.bootstrap, topic)}


def test_a_rebuilt_query_takes_over_and_goes_back_while_others_go_on(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model("plain", EVENTS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))
    with running(shop.root, first_spark) as run:
        run.until(lambda: has_read(run, "totals", 3) and has_read(run, "events_topics", 3))
        shop.model("totals", MOST)
        shop.send(event(4, value=1.0))
        told = []
        found = applied(shop, tell=told.append)
        assert found.replaced == ("totals",)
        assert [each for each in told if isinstance(each, Compared)] == [
            Compared("model.totals", ("events",), 2)
        ]
        run.until(lambda: totals(shop) == {"a": (3.0, 3), "b": (1.0, 1)})
        shop.send(event(5, value=9.0))
        run.until(lambda: totals(shop) == {"a": (9.0, 4), "b": (1.0, 1)})
        assert applied(shop, None).replaced == ("totals",)
        run.until(lambda: totals(shop) == {"a": (15.0, 4), "b": (1.0, 1)})
        shop.send(event(6, "b"))
        run.until(lambda: totals(shop) == {"a": (15.0, 4), "b": (2.0, 2)})
        with pytest.raises(MillstreamError, match="MS887"):
            applied(shop, None)
    assert sorted(each["id"] for each in once(shop, "plain")) == [1, 2, 3, 4, 5, 6]
