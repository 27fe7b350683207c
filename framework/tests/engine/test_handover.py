"""`apply` while a project runs: queries are replaced between two batches, on Kafka, Spark and Delta."""

import json
from collections import Counter

import pytest
from support.running import running
from support.runs import headers, job_of, received, table_rows
from support.shops import PROFILES, event
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.handover.channel import run_of
from millstream.deploy.handover.client import request_deploy
from millstream.deploy.handover.values import DeployRequest
from millstream.deploy.handover.version_loading import version_to_send
from millstream.deploy.planning.intents import Apply
from millstream.deploy.values import ApplyStep, BatchCompleted, QueryWaiting, TableCompared
from millstream.engine.queries.tables import Tables

pytestmark = SPARK_WARNINGS

TOTALS = """
    {{ config(materialized='table', unique_key='user') }}
    select user, sum(value) as total, count(*) as events from {{ source('web', 'events') }} group by user
"""
MOST = TOTALS.replace("sum(value)", "max(value)")
ANY = Apply({NodeId("model", "totals"): ("user", "events")})
EVENTS = "{{ config(materialized='sink') }} select id, value from {{ source('web', 'events') }}"
KINDS = """
    {{ config(materialized='sink', key='kind') }}
    select kind, count(*) as events from {{ source('web', 'events') }} group by kind
"""


def applied(shop, intent=ANY, tell=lambda _: None):
    """Apply the project on disk to its run, or roll back without an intent."""
    job = job_of(shop.root)
    channel = run_of(job.project.target, shop.root)
    assert channel is not None
    return request_deploy(
        channel, version_to_send(job.project, job.manifest, None, None, tests=True), intent, tell
    )


def totals(shop):
    return {row["user"]: (row["total"], row["events"]) for row in table_rows(shop.root, "model.totals")}


def has_read(run, query, count):
    return sum(event.batch.rows for event in run.of(BatchCompleted) if event.query == query) >= count


def all_have_read(run, count):
    names = [event.query.name for event in run.of(QueryWaiting)]
    return names and all(has_read(run, name, count) for name in names)


def once(shop, topic):
    """Return the values of a topic by their header; no header comes twice."""
    records = received(shop.bootstrap, topic)
    marks = Counter((record.key(), tuple(sorted(headers(record).items()))) for record in records)
    assert set(marks.values()) <= {1}, marks.most_common(3)
    return [json.loads(record.value()) for record in records]


def newest(shop, topic):
    return {record.key(): json.loads(record.value()) for record in received(shop.bootstrap, topic)}


@pytest.mark.long
def test_a_rebuilt_query_takes_over_and_goes_back_while_others_go_on(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model("plain", EVENTS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))
    with running(shop.root, first_spark) as run:
        run.until(lambda: has_read(run, "totals", 3) and has_read(run, "events_topics", 3))
        shop.model("totals", MOST)
        shop.send(event(4, value=1.0))
        events = []
        finished = applied(shop, tell=events.append)
        assert finished.replaced == ("totals",)
        assert [event for event in events if isinstance(event, TableCompared)] == [
            TableCompared(NodeId("model", "totals"), ("events",), 2)
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
    assert sorted(row["id"] for row in once(shop, "plain")) == [1, 2, 3, 4, 5, 6]


LARGE = """
    {{ config(materialized='table', unique_key='id') }}
    select id, value * 2 as value from {{ source('web', 'events') }}
"""


@pytest.mark.long
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
def test_topics_get_each_record_once_from_one_version_or_the_other(shop, first_spark, guarantee):
    """One query has a table that is rebuilt and events that must not be sent again; another sends its state."""
    shop.write(
        "profiles.yml", PROFILES.replace("kafka: embedded", f"kafka: embedded, guarantee: {guarantee}")
    )
    shop.model("plain", EVENTS)
    shop.model("large", LARGE)
    shop.model("kinds", KINDS)
    shop.send(event(1), event(2), event(3, kind="y"))
    with running(shop.root, first_spark) as run:
        run.until(lambda: all_have_read(run, 3))
        shop.model("plain", EVENTS.replace("id, value", "id, value + 100 as value"))
        shop.model("large", LARGE.replace("value * 2", "value * 3"))
        shop.model("kinds", KINDS.replace("count(*)", "count(*) * 10 + max(id)"))
        shop.model("fresh", EVENTS)
        finished = applied(shop)
        assert "kinds" in finished.replaced
        shop.send(event(4))
        run.until(lambda: len(shop.values("plain")) == 4 and len(newest(shop, "kinds")) == 2)
        run.until(lambda: newest(shop, "kinds")[b"x"]["events"] == 34)
        run.until(lambda: len(shop.values("fresh")) == 4)
        # Two records of the old version, two of the new one when it took over, and one for the last event.
        sent = [row["events"] for row in once(shop, "kinds")]
        assert (sorted(sent[:2]), sorted(sent[2:4]), sent[4:]) == ([1, 2], [13, 22], [34])
        assert {row["id"]: row["value"] for row in once(shop, "plain")} == {
            1: 1.0,
            2: 1.0,
            3: 1.0,
            4: 101.0,
        }
        assert sorted(row["id"] for row in once(shop, "fresh")) == [1, 2, 3, 4]
        run.until(lambda: rows(shop, "large") == {1: 3.0, 2: 3.0, 3: 3.0, 4: 3.0})
        # Back: what the newer version has sent is not sent again.
        (shop.root / "models/fresh.sql").unlink()
        applied(shop, None)
        shop.send(event(5))
        run.until(lambda: rows(shop, "large") == {1: 2.0, 2: 2.0, 3: 2.0, 4: 2.0, 5: 2.0})
        run.until(lambda: len(shop.values("plain")) == 5)
    values = {row["id"]: row["value"] for row in once(shop, "plain")}
    assert values == {1: 1.0, 2: 1.0, 3: 1.0, 4: 101.0, 5: 1.0}
    assert len(once(shop, "fresh")) == 4


def rows(shop, table):
    return {row["id"]: row["value"] for row in table_rows(shop.root, f"model.{table}")}


@pytest.mark.long
def test_models_leave_a_shared_query_while_it_runs(shop, first_spark):
    """Three models share a query; one is edited, then one is removed, then the last one is edited."""
    tally = KINDS.replace("kind", "user")
    shop.model("totals", TOTALS)
    shop.model("tally", tally)
    shop.model("last", TOTALS.replace("sum(value)", "max(id)"))
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))

    def last():
        return {row["user"]: row["total"] for row in table_rows(shop.root, "model.last")}

    def steps():
        return [(event.step, event.queries) for event in run.of(ApplyStep)]

    with running(shop.root, first_spark) as run:
        run.until(lambda: all_have_read(run, 3))
        (shared,) = {event.query.name for event in run.of(QueryWaiting)}
        # The new version fails after the model has left: the old one goes on, in two queries.
        shop.model("totals", MOST.replace("count(*)", "count(*) + 1"))
        with pytest.raises(MillstreamError, match="MS886"):
            applied(shop)
        assert ("split", (shared, "totals")) in steps()
        shop.send(event(4, value=1.0))
        run.until(lambda: totals(shop) == {"a": (6.0, 3), "b": (1.0, 1)})
        run.until(lambda: newest(shop, "tally")[b"a"]["events"] == 3 and last() == {"a": 4, "b": 3})
        shop.model("totals", MOST)
        assert applied(shop).replaced == ("totals",)  # the others go on, although they shared a query with it
        run.until(lambda: totals(shop) == {"a": (3.0, 3), "b": (1.0, 1)})
        assert "totals" in applied(shop, None).replaced
        run.until(lambda: totals(shop) == {"a": (6.0, 3), "b": (1.0, 1)})
        applied(shop)
        # One of those that share the other query is removed; the other one keeps its state.
        (shop.root / "models/tally.sql").unlink()
        applied(shop)
        shop.send(event(5, value=9.0))
        run.until(lambda: totals(shop) == {"a": (9.0, 4), "b": (1.0, 1)} and last() == {"a": 5, "b": 3})
        shop.model("last", TOTALS.replace("sum(value)", "min(id)"))
        assert applied(shop).replaced == (shared,)
        run.until(lambda: last() == {"a": 1, "b": 3})
    # The same versions continue in another run; the topic has what it had, and nothing twice.
    shop.send(event(6, "b", value=4.0))
    with running(shop.root, first_spark) as run:
        run.until(lambda: totals(shop) == {"a": (9.0, 4), "b": (4.0, 2)})
        run.until(lambda: all_have_read(run, 1))
    assert last() == {"a": 1, "b": 3}
    # It was sent each time that it changed, by either query, and nothing of it again.
    sent = [record.value() for record in received(shop.bootstrap, "tally")]
    assert sorted(map(len, (sent, {*sent}))) == [3, 3], sent


@pytest.mark.long
def test_a_new_version_that_fails_leaves_the_running_one(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))
    with running(shop.root, first_spark) as run:
        run.until(lambda: has_read(run, "totals", 3))
        # Its rows differ where the edit changes nothing.
        shop.model("totals", MOST.replace("count(*)", "count(*) + 1"))
        with pytest.raises(MillstreamError, match="MS886"):
            applied(shop)
        # It fails on a record.
        shop.model("totals", MOST.replace("max(value)", "max(1 / (id - 3))"))
        with pytest.raises(MillstreamError, match="MS868"):
            applied(shop)
        # Files are edited in between.
        job = job_of(shop.root)
        sent = version_to_send(job.project, job.manifest, None, None, tests=True)
        shop.write("seeds/names.csv", "name\nann")
        with pytest.raises(MillstreamError, match="edited while"):
            request_deploy(run_of(job.project.target, shop.root), sent, ANY, run.tell)
        (shop.root / "seeds/names.csv").unlink()
        # Settings of the target have changed.
        before = (shop.root / "profiles.yml").read_text()
        shop.write("profiles.yml", before.replace("local[2]", "local[1]"))
        with pytest.raises(MillstreamError, match="settings of the target"):
            applied(shop)
        shop.write("profiles.yml", before)
        shop.send(event(4))
        run.until(lambda: totals(shop) == {"a": (6.0, 3), "b": (1.0, 1)})
        shop.model("totals", MOST)
        applied(shop)
        run.until(lambda: totals(shop) == {"a": (3.0, 3), "b": (1.0, 1)})


@pytest.mark.long
def test_a_command_that_ends_leaves_the_running_version(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0))
    with running(shop.root, first_spark) as run:
        run.until(lambda: has_read(run, "totals", 1))
        shop.model("totals", MOST)
        job = job_of(shop.root)
        channel = run_of(job.project.target, shop.root)
        answers = channel.ask(
            DeployRequest(version_to_send(job.project, job.manifest, None, None, tests=True), ANY)
        )
        next(answers)
        answers.close()
        shop.send(event(2, value=1.0))
        # The next command waits until the run has given the first one up.
        applied(shop)
        assert "failed" in [event.step for event in run.of(ApplyStep)]
        run.until(lambda: totals(shop) == {"a": (2.0, 2)})
    assert run_of(job.project.target, shop.root) is None


@pytest.mark.long
def test_a_swap_that_has_begun_is_completed_by_the_next_run(shop, first_spark, monkeypatch):
    """The run dies while it swaps: both tables and the topic are of the new version afterwards."""
    shop.model("totals", TOTALS)
    shop.model("kinds", KINDS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b", kind="y"))
    swaps = Tables.swap

    def dying(*_, **__):
        raise OSError("killed")

    def swapping():
        with running(shop.root, first_spark) as run:
            run.until(lambda: all_have_read(run, 3))
            shop.model("totals", MOST)
            shop.model("kinds", KINDS.replace("count(*)", "count(*) * 10"))
            monkeypatch.setattr(Tables, "swap", dying)
            with pytest.raises(MillstreamError, match="killed"):
                applied(shop)
            assert totals(shop) == {"a": (5.0, 2), "b": (1.0, 1)}
            run.until(lambda: False)

    with pytest.raises(MillstreamError, match="killed"):
        swapping()
    monkeypatch.setattr(Tables, "swap", swaps)
    shop.send(event(4, value=1.0))
    with running(shop.root, first_spark) as run:
        run.until(lambda: totals(shop) == {"a": (3.0, 3), "b": (1.0, 1)})
        run.until(lambda: newest(shop, "kinds")[b"x"]["events"] == 30)
    assert sorted(row["events"] for row in once(shop, "kinds")) == [1, 2, 10, 20, 30]
