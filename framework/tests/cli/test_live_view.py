"""What a run shows of its queries while it runs."""

import io
import json
import time
from collections import Counter
from itertools import pairwise

import pytest
from msgspec import structs
from rich.console import Console
from support.reviews import physical_query

from millstream.cli.live_view import LiveView
from millstream.cli.output import OutputStyle
from millstream.cli.run_progress import run_progress
from millstream.compile import compile_project
from millstream.deploy.values import BatchCompleted, MachineUsage, QueryRunning, QueryWaiting, SetupStep
from millstream.engine.queries.batch_result import BatchResult
from millstream.ops.query_status import QueryStatus, RunTotals
from millstream.queries.topology import compiled_topology, physical_of


def lines(view, *seen):
    out = io.StringIO()
    Console(file=out, width=160).print(view.shown(seen, "topics", MachineUsage(at_once=2, cores=2)))
    return out.getvalue().splitlines()


def status(name="totals", **fields):
    return QueryStatus(name, (name,), status="running", started=time.time() - 37, **fields)


BUSY = BatchResult(1, 10, 1.5, read={"events": {0: 100}}, behind={"events": 1250}, latency=3.25, state_rows=7)


@pytest.mark.parametrize(
    ("fields", "ago", "message"),
    [
        ({}, 0, "first batch: 37 s"),
        ({"last": BUSY}, 12, "batch: 12 s"),
        ({"last": BUSY}, 1, "running"),
        # Nothing to read.
        ({"last": BatchResult(1, 10, 1.0)}, 12, "running"),
        ({"caught_up": True}, 12, "running"),
    ],
)
def test_it_says_what_a_query_does(fields, ago, message):
    assert message in lines(LiveView(), status(last_active=time.time() - ago, **fields))[1]


def test_numbers_of_queries_and_their_totals():
    counts = {"late": 3, "failures": 1, "skipped": Counter(a=2), "dead_letters": Counter(a=4)}
    one = status("one", last=BUSY, last_active=time.time(), rows=1000, **counts)
    header, first, second, total, stage = lines(LiveView(), one, status("two"))
    names = ["query", "rows", "rows/s", "batch", "latency", "lag", "late", "bad", "failures", "keys"]
    assert header.split() == names
    assert first.split() == [
        "one",
        "running",
        "1,000",
        "0",
        "1.5",
        "s",
        "3.2",
        "s",
        "1,250",
        "3",
        "6",
        "1",
        "7",
    ]
    assert second.split() == ["two", "first", "batch:", "37", "s", "0", "0"]
    assert total.split() == ["total", "1,000", "0", "1,250", "3", "6", "1", "7"]
    assert stage == "topics"


def test_it_says_that_queries_take_turns():
    assert (
        lines(LiveView(), *(status(f"q{n}") for n in range(7)))[-1]
        == "2 of 7 queries at a time on 2 cores; topics"
    )
    assert lines(LiveView(), status("q0"), status("q1"))[-1] == "topics"


def test_what_a_run_does_before_its_queries_run(monkeypatch):
    clock = time.monotonic()
    message = []
    with run_progress(OutputStyle(), RunTotals()) as progress:
        for second, stage in (
            (1, None),
            (2, SetupStep("Spark")),
            (14, None),
            (15, SetupStep("Spark", "4.2.0", done=True)),
        ):
            monkeypatch.setattr("millstream.cli.run_progress.time.monotonic", lambda now=clock + second: now)
            if stage is not None:
                progress.handle(stage)
            out = io.StringIO()
            Console(file=out, width=80).print(progress.view())
            message.append(out.getvalue().rstrip())
    assert message == [
        "starting, 1 s",
        "starting Spark, 0 s",
        "starting Spark, 12 s",
        "starting queries, 0 s",
    ]


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(0.04, "0.0 s"), (119.0, "119.0 s"), (150.0, "2 min"), (7300.0, "2 h"), (28307431.9, "328 d")],
)
def test_latencies_have_units_that_fit(seconds, message):
    seen = status(last=structs.replace(BUSY, latency=seconds), last_active=time.time())
    assert f"1.5 s {message} 1,250" in " ".join(lines(LiveView(), seen)[1].split())


def test_rows_per_second_are_those_of_half_a_minute(monkeypatch):
    view, start = LiveView(), time.time()
    rates = []
    for second in range(0, 120, 10):
        monkeypatch.setattr("millstream.cli.live_view.time.time", lambda now=start + second: now)
        # A batch of a thousand rows every ten seconds, then nothing.
        rates.append(int(lines(view, status(rows=100 * min(second, 60)))[1].split()[-1].replace(",", "")))
    assert rates[2:7] == [100] * 5
    assert rates[-1] == 0
    assert all(one >= other for one, other in pairwise(rates[6:]))


def test_late_rows_come_with_the_model_and_what_to_change(capfd, monkeypatch):
    with run_progress(OutputStyle(json=True), RunTotals()) as progress:
        query = physical_query("totals", "source.web.events", "events")
        progress.handle(QueryWaiting(query))
        progress.handle(QueryRunning(query))
        clock = time.monotonic()
        for number, second in enumerate((0, 1, 2, 70)):
            monkeypatch.setattr("millstream.cli.run_progress.time.monotonic", lambda now=clock + second: now)
            batch = BatchResult(number, 10, 1.0, late=number + 1, watermark="2026-01-01T00:00:10.000Z")
            progress.handle(BatchCompleted("totals", batch))
    message = [
        event for event in map(json.loads, capfd.readouterr().out.splitlines()) if event["event"] == "late"
    ]
    # The first at once, then those of a minute together.
    assert [event["rows"] for event in message] == [1, 2 + 3 + 4]
    assert (message[0]["models"], message[0]["sources"]) == (["totals"], ["web.events"])
    assert message[0]["watermark"] == "2026-01-01T00:00:10.000Z"


def test_late_rows_come_with_the_delay(shop, capfd):
    source = (shop / "models/sources.yml").read_text()
    watermark = (
        "          - {name: at, type: timestamp}\n        watermark: {column: at, delay: 10 minutes}\n"
    )
    (shop / "models/sources.yml").write_text(source + watermark)
    (shop / "models/totals.sql").write_text(
        "{{ config(materialized='sink', dedupe={'keys': ['user_id'], 'within': '1 hour'}) }} "
        "select user_id, at from {{ source('web', 'clicks') }}"
    )
    (query,) = physical_of(compiled_topology(compile_project(shop))).queries
    with run_progress(OutputStyle(), RunTotals()) as progress:
        progress.handle(QueryWaiting(query))
        progress.handle(QueryRunning(query))
        progress.handle(
            BatchCompleted(query.name, BatchResult(1, 10, 1.0, late=50, watermark="2026-01-01T00:00:10.000Z"))
        )
    (line,) = (line for line in capfd.readouterr().err.splitlines() if "late" in line)
    assert line.partition(" ")[2] == (
        "totals: 50 rows dropped as late: older than the watermark, 2026-01-01T00:00:10.000Z; to keep such rows, "
        "set a longer `delay` in the watermark of web.clicks (now 10 minutes)"
    )
