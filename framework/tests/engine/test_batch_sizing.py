"""Runs whose batches are limited by the time that results may take, on Kafka and Spark."""

from collections import Counter

import pytest
from support.running import running
from support.runs import create_topics, job_of, table_rows
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.deploy.engine import Service, service_of
from millstream.deploy.live.latency_limit import FIRST, GROWTH
from millstream.deploy.values import BatchCompleted

pytestmark = SPARK_WARNINGS

PROFILES = """
    shop:
      target: local
      outputs:
        local: {master: "local[2]", kafka: embedded, trigger: 100 milliseconds, latency: 1 minute}
"""
PLAIN = """
    {{ config(materialized='sink', latency='4 seconds', priority='high') }}
    select id from {{ source('web', 'events') }}
"""


def sizes(run, query):
    return [
        batched.batch.rows
        for batched in run.of(BatchCompleted)
        if batched.query == query and batched.batch.rows
    ]


def test_a_backlog_is_read_in_batches_that_fit_and_each_record_once(shop, first_spark):
    shop.write("profiles.yml", PROFILES)
    shop.model("plain", PLAIN)
    records = 5 * FIRST
    shop.send(*map(event, range(records)))
    with running(shop.root, first_spark) as run:
        run.until(lambda: sum(sizes(run, "events_topics")) >= records)
    batch_sizes = sizes(run, "events_topics")
    # How many records the first batch of a checkpoint has read is not known before it is complete.
    assert batch_sizes[:2] == [FIRST, FIRST]
    assert FIRST != batch_sizes[2] <= GROWTH * FIRST
    assert Counter(row["id"] for row in shop.values("plain")) == dict.fromkeys(range(records), 1)


@pytest.mark.long
def test_topics_keep_the_limits_of_their_sources(shop, first_spark):
    """Two queries read two topics, one of which has limits of its own, and store the same rows as without limits."""
    create_topics(shop.bootstrap, "others", partitions=1)
    shop.write("profiles.yml", PROFILES)
    shop.more(
        """
      - name: others
        max_rows_per_trigger: 700
        min_rows_per_trigger: 2
        max_trigger_delay: 1 second
        columns:
          - {name: id, type: int}
    """
    )
    shop.model(
        "both",
        """
        {{ config(materialized='sink') }}
        select id, 'e' as of from {{ source('web', 'events') }}
        union all select id, 'o' as of from {{ source('web', 'others') }}
        """,
    )
    shop.model("totals", TOTALS)
    shop.send(*map(event, range(25_000)))
    shop.send(*((None, {"id": n}) for n in range(3_000)), topic="others")
    with running(shop.root, first_spark) as run:
        run.until(lambda: sum(sizes(run, "both")) >= 28_000 and sum(sizes(run, "totals")) >= 25_000)
    reads = [batched.batch.read["others"][0] for batched in run.of(BatchCompleted) if batched.query == "both"]
    assert all(later - before <= 700 for before, later in zip([0, *reads], reads, strict=False))
    assert len(reads) >= 5
    sent = Counter((row["of"], row["id"]) for row in shop.values("both"))
    assert sent == dict.fromkeys([("e", n) for n in range(25_000)] + [("o", n) for n in range(3_000)], 1)
    assert table_rows(shop.root, "model.totals") == [{"user": "a", "total": 25_000.0}]


def test_neither_option_changes_what_is_executed(shop):
    shop.model("plain", PLAIN.replace(", latency='4 seconds', priority='high'", ""))
    before = job_of(shop.root)
    shop.model("plain", PLAIN)
    shop.write("profiles.yml", PROFILES)
    after = job_of(shop.root)
    assert after.physical == before.physical
    (query,) = after.physical.queries
    services = [service_of(query, job.topology.catalog, job.project.target) for job in (before, after)]
    assert services == [Service(None, 1), Service(4, 2)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("latency='5 minutes'", Service(300, 1)),  # a model's own counts, even if it is longer
        ("priority='low'", Service(60, 0)),
        ("", Service(60, 1)),
    ],
)
def test_a_query_has_what_its_models_say_or_the_target(shop, options, expected):
    shop.write("profiles.yml", PROFILES)
    shop.model("plain", PLAIN.replace("latency='4 seconds', priority='high'", options))
    job = job_of(shop.root)
    (query,) = job.physical.queries
    assert service_of(query, job.topology.catalog, job.project.target) == expected


def test_a_query_of_several_models_is_as_urgent_as_the_most_urgent_one(shop):
    shop.model("plain", PLAIN)
    shop.model("more", PLAIN.replace("'4 seconds'", "'1 second'").replace("'high'", "'low'"))
    job = job_of(shop.root)
    (query,) = job.physical.queries
    assert service_of(query, job.topology.catalog, job.project.target) == Service(1, 2)
