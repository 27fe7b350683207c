"""A run on a cluster for a long time, at half of what it can do, while things go wrong.

`MILLSTREAM_SOAK_MINUTES=60 uv run pytest -m long -s framework/tests/crash/test_soak.py` takes a few minutes more. In it:
ten times as many records for a while, a broker that is killed, a worker that is killed, a field that is new, with an
`apply` of a model that reads it, and records that can't be decoded. At the end, each record is in each topic once,
memory has not grown, and a real Prometheus has seen the alerts begin and end.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from statistics import median

import pytest
from support.commands import Run, descendants, succeed
from support.exactly_once import Traffic, write_models
from support.many_records import check_each_once
from support.prometheus import scraped
from support.runs import create_topics
from support.standalone import standalone

from millstream.local.broker import broker_folder_of, revive_broker
from millstream.local.server.state import read_pid

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

MINUTES = float(os.environ.get("MILLSTREAM_SOAK_MINUTES", "3"))
LONG = MINUTES >= 45
"""Alerts wait for minutes before they fire."""
BACKLOG = 100_000 if LONG else 10_000
"""Records by which it is measured how many a second can be done."""
PORT = "9475"
CHOSEN = ("plain", "odd", "parts", "totals")
PROFILES = """
    shop:
      target: cluster
      outputs:
"""
MORE = """
      latency: 20 seconds
      health: {max_lag: 20000}
"""
NOTED = """
    {{ config(materialized='sink') }}
    select id, note from {{ source('web', 'events') }} where note is not null
"""
EXPECTED = {"MillstreamDeadLetters"}
"""The alert of records that can't be decoded. What the burst leaves behind is done before its alert fires."""


@pytest.fixture
def shop(durable_shop):
    shop = durable_shop
    shop.write("profiles.yml", PROFILES)
    write_models(shop, CHOSEN)
    create_topics(shop.bootstrap, "events")
    return shop


class Load:
    """Sends records at a rate, in a thread of its own."""

    def __init__(self, traffic, rate):
        self.traffic, self.rate, self.times = traffic, rate, 1
        self.lock = threading.Lock()
        """Held while records are sent."""
        self._stopping, self._error = threading.Event(), None
        self._thread = threading.Thread(target=self._go)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        self._thread.join()
        if self._error:
            raise self._error

    def _go(self):
        due, last = 0.0, time.monotonic()
        try:
            while not self._stopping.wait(0.1):
                now = time.monotonic()
                due += (now - last) * self.rate * self.times
                last = now
                with self.lock:
                    self.traffic.more(int(due))
                due -= int(due)
        except BaseException as error:  # noqa: BLE001 -- raised where the block ends
            self._error = error


class Watch:
    """Looks at a run from time to time: its memory, its lag, and the alerts that fire."""

    def __init__(self, run, prometheus):
        self.run, self.prometheus = run, prometheus
        self.memory, self.began, self.ended = [], {}, {}
        self._start = time.monotonic()

    def until(self, share):
        """Watch until this share of the time has passed."""
        while (now := time.monotonic() - self._start) < share * MINUTES * 60:
            self.run.go_on(min(20, MINUTES))
            self.memory.append((now, resident(self.run.process.pid)))
            firing = {series["metric"]["alertname"] for series in self._series('ALERTS{alertstate="firing"}')}
            self.began |= dict.fromkeys(firing - self.began.keys(), now)
            self.ended |= dict.fromkeys(self.began.keys() - firing - self.ended.keys(), now)
            lag = sum(float(series["value"][1]) for series in self._series("millstream_lag"))
            say(
                f"{now / 60:6.2f} min: {self.memory[-1][1]:5.0f} MB, lag {lag:9,.0f} {' '.join(sorted(firing))}"
            )

    def is_done(self, records):
        """Whether all queries have read so many records."""
        rows = [float(series["value"][1]) for series in self._series("millstream_rows_total")]
        lags = [float(series["value"][1]) for series in self._series("millstream_lag")]
        return bool(rows) and min(rows) >= records and not any(lags)

    def take_in(self, traffic, records):
        """Send records, and return the seconds until all are done."""
        before = time.monotonic()
        traffic.more(records)
        while not self.is_done(traffic.count):
            self.run.go_on(0.5)
        return time.monotonic() - before

    def _series(self, query):
        with contextlib.suppress(OSError):
            return self.prometheus.series(query)
        return []

    def grown(self):
        """Return the memory of the last sixth of the time divided by that of a sixth before the middle."""
        end = self.memory[-1][0]
        before = median(memory for time, memory in self.memory if end / 3 <= time < end / 2)
        return median(memory for time, memory in self.memory if time >= end * 5 / 6) / before


def say(text):
    print(text, flush=True)  # noqa: T201 -- the figures of a long run


def resident(process):
    """Return the megabytes of a process and those that it started."""
    pids = ",".join(map(str, [process, *descendants(process)]))
    ps = subprocess.run(["ps", "-o", "rss=", "-p", pids], capture_output=True, text=True, check=False)
    return sum(map(int, ps.stdout.split())) / 1024


def test_nothing_is_lost_and_memory_does_not_grow(shop):
    bad = range(0)
    traffic = Traffic(shop.bootstrap, bad=lambda number: number in bad)
    with standalone(shop.root, shop.bootstrap, "exactly_once", MORE) as workers:
        succeed(shop.root, "docs", "generate", "--format", "alerts", "--to", "alerts.yml")
        run = Run(shop.root, "--port", PORT)
        try:
            run.until("serving")
            with scraped(f"http://127.0.0.1:{PORT}", (shop.root / "alerts.yml").read_text()) as prometheus:
                watch = Watch(run, prometheus)
                watch.take_in(traffic, BACKLOG)
                capacity = 2 * BACKLOG / watch.take_in(traffic, 2 * BACKLOG)
                say(f"{capacity:,.0f} records a second at most")
                watch = Watch(run, prometheus)
                with Load(traffic, capacity / 2) as load:
                    watch.until(0.1)
                    load.times = 10
                    watch.until(0.1 + 1 / 60)
                    load.times = 1
                    watch.until(0.35)
                    os.kill(read_pid(broker_folder_of(shop.root)), signal.SIGKILL)
                    while not revive_broker(shop.root):  # it has not ended yet
                        run.go_on(0.1)
                    watch.until(0.5)
                    workers[1].kill()
                    watch.until(0.5 + 1 / 60)
                    workers.add()
                    watch.until(0.58)
                    with load.lock:
                        bad = range(traffic.count, traffic.count + 100)
                    watch.until(0.7)
                    with load.lock:
                        traffic.fields = {"note": "new"}
                        noted = traffic.count
                    add_note(shop)
                    succeed(shop.root, "apply", "--yes")
                    watch.until(1)
        finally:
            code = run.stop()
            if code:
                say("".join([*run.output, *iter(run.lines.get, "")][-3:]))
        assert code == 0
        say(f"{traffic.count:,} records; memory {watch.grown():.2f} times that before the middle")
        succeed(shop.root, "build")
    check_each_once(shop.bootstrap, traffic.count, bad, noted)
    if LONG:
        assert watch.grown() < 1.15
        assert EXPECTED <= watch.ended.keys() == watch.began.keys(), (watch.began, watch.ended)


def add_note(shop):
    """Let a new model read a new field."""
    file = shop.root / "models/sources.yml"
    kind = "          - {name: kind, type: string}\n"
    file.write_text(file.read_text().replace(kind, kind + kind.replace("kind", "note")))
    shop.model("noted", NOTED)
