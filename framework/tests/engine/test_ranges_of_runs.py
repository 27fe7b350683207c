"""A range is computed again while the project runs: its query is held between two batches meanwhile."""

import threading

import pytest
from deltalake import DeltaTable
from support.running import running
from support.runs import built, job_of, table_rows
from support.spark import SPARK_WARNINGS
from support.time_ranges import ACCEPTED, RAW, day, sent_on

from millstream.core.errors import MillstreamError
from millstream.deploy.handover.channel import run_of
from millstream.deploy.handover.client import request_deploy, request_ranges
from millstream.deploy.handover.version_loading import version_to_send
from millstream.deploy.planning.intents import Apply, Update
from millstream.deploy.planning.ranges import RequestedTimes, ranges_of
from millstream.deploy.values import BatchCompleted, QueryRunning, RangeReplaced

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

ROWS = (
    "{{ config(materialized='table', partition_by='day') }} "
    "select id, value * 2 as doubled, at, cast(at as date) as day from {{ source('web', 'events') }}"
)


def computed_again(shop, start=2, end=3):
    """Let the run compute days again; return what was replaced."""
    return asking_for(shop, start, end)()


def asking_for(shop, start=2, end=3):
    """Return what lets the run compute days again, of a project that is compiled already."""
    job = job_of(shop.root)
    models = frozenset({RAW})
    ranges = ranges_of(job.topology, job.project, models, RequestedTimes(day(start), day(end)))

    def ask():
        events = []
        run = run_of(job.project.target, shop.root)
        request_ranges(run, job.manifest, Update(ranges=ranges), events.append)
        return [(event.rows, event.before) for event in events if isinstance(event, RangeReplaced)]

    return ask


def has_read(run, count):
    return sum(event.batch.rows for event in run.of(BatchCompleted)) >= count


def rows(shop):
    return sorted((row["id"], row["doubled"]) for row in table_rows(shop.root, "model.raw"))


def test_rows_that_arrive_meanwhile_are_stored_once(shop, first_spark):
    shop.model("raw", ROWS)
    shop.send(*(sent_on(number, number) for number in (1, 2, 3)))
    with running(shop.root, first_spark) as run:
        run.until(lambda: has_read(run, 3))
        DeltaTable(str(shop.root / ".millstream/local/tables/raw")).delete("id >= 2")
        sent, stop = [4], threading.Event()

        def send():
            while not stop.is_set():
                shop.send(sent_on(2, sent[-1]))
                sent.append(sent[-1] + 1)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            run.until(lambda: has_read(run, 6))
            ((now, before),) = computed_again(shop)
        finally:
            stop.set()
            sender.join()
        assert now == before + 1  # the row that was lost
        run.until(lambda: has_read(run, sent[-1] - 1))
        assert [number for number, _ in rows(shop)] == [1, 2, *range(4, sent[-1])]
        assert len(run.of(QueryRunning)) == 1
        assert [event.model for event in run.of(RangeReplaced)] == [RAW]


def test_an_edit_is_deployed_before_its_range_is_computed(shop, first_spark):
    shop.model("raw", ROWS)
    shop.send(*(sent_on(number, number) for number in (1, 2, 3)))
    with running(shop.root, first_spark) as run:
        run.until(lambda: has_read(run, 3))
        shop.model("raw", ROWS.replace("value * 2", "value * 3"))
        with pytest.raises(MillstreamError) as error:
            computed_again(shop)
        (refused,) = error.value.diagnostics
        assert (refused.code, refused.help) == ("MS898", "deploy it with `millstream apply`")
        job = job_of(shop.root)
        version = version_to_send(job.project, job.manifest, None, None, tests=True)
        channel = run_of(job.project.target, shop.root)
        request_deploy(channel, version, Apply({}, accepted=ACCEPTED), lambda _: None)
        assert computed_again(shop) == [(1, 1)]
        assert rows(shop) == [(1, 2.0), (2, 6.0), (3, 6.0)]


def test_a_batch_that_may_be_stored_is_completed_first(shop, first_spark):
    shop.model("raw", ROWS)
    for number in (1, 2):
        shop.send(sent_on(number, number))
        built(shop.root, first_spark)
    for commit in (shop.root / ".millstream").glob("*/checkpoints/*/spark/commits/*1*"):
        commit.unlink()  # as if it had been killed before it wrote that
    refused, ask = [], asking_for(shop)

    def ask_at_once(event):
        if isinstance(event, QueryRunning):
            with pytest.raises(MillstreamError) as error:
                ask()
            refused.extend(error.value.diagnostics)

    with running(shop.root, first_spark, also=[ask_at_once]) as run:
        run.until(lambda: refused)
        assert "the last batch of raw is not complete" in refused[0].message
        run.until(lambda: has_read(run, 1))
        assert ask() == [(1, 1)]
        assert [number for number, _ in rows(shop)] == [1, 2]
