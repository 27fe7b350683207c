"""Measure how long a killed run is missing: `python benchmarks/takeover.py --kills 10`.

A supervisor starts `millstream run` again whenever it ends, as systemd does without a delay, while records
arrive all the time. The run is killed with `kill -9`, with its JVM. Printed are the seconds from the kill to
the first record of a sink that was sent after it, with and without a standby (`--shared --wait`), and that
every record has arrived at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer

from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.topics import TopicConfig, create_missing
from millstream.local.broker import keep_broker, stop_broker

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "takeover"\n',
    "profiles.yml": 'takeover: {target: local, outputs: {local: {master: "local[2]", kafka: embedded}}}\n',
    "models/sources.yml": (
        "sources:\n  - name: web\n    topics:\n      - name: events\n"
        "        key: {name: user, type: string}\n"
        "        columns: [{name: id, type: bigint}]\n"
    ),
    "models/seen.sql": "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}\n",
    "models/counts.sql": (
        "{{ config(materialized='table', unique_key='user') }} "
        "select user, count(*) as events from {{ source('web', 'events') }} group by user\n"
    ),
}
LONGEST = 300.0


class Run:
    """A run in a session of its own, which writes to a file."""

    def __init__(self, root: Path, number: int, *, standby: bool) -> None:
        self._message = root / f"run{number}.log"
        more = ("--shared", "--wait") if standby else ()
        with self._message.open("w") as message:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "millstream", "run", "--output", "json", "--port", "0", *more],
                cwd=root,
                stdout=message,
                stderr=message,
                start_new_session=True,
            )

    def until_spark(self) -> None:
        while not any(_is_spark(line) for line in self._message.read_text().splitlines()):
            if self._process.poll() is not None:
                raise SystemExit(f"the run has ended: {self._said.read_text()}")
            time.sleep(0.1)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(LONGEST)


def _is_spark(line: str) -> bool:
    """Return whether a whole line reports that Spark has started."""
    event = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
    return event.get("event") == "stage" and event.get("name") == "Spark"


class Supervisor:
    """Keeps one run alive, and with a standby a second one, which waits for the locks of the first."""

    def __init__(self, root: Path, *, standby: bool) -> None:
        self._root, self._standby, self._started = root, standby, 0
        self._runs: list[Run] = []
        self._start()

    def _start(self) -> None:
        self._started += 1
        self._runs.append(Run(self._root, self._started, standby=self._standby))

    def until_standby(self) -> None:
        """Have a standby that has started Spark, if one is wanted."""
        if self._standby:
            if len(self._runs) == 1:
                self._start()
            self._runs[-1].until_spark()

    def kill(self) -> float:
        """Kill the run that works; start another one, unless one waits for that; return when that was."""
        moment = time.monotonic()
        self._runs.pop(0).kill()
        if not self._runs:
            self._start()
        return moment

    def stop(self) -> None:
        for run in reversed(self._runs):
            run.stop()


class Traffic:
    """Sends a record every few milliseconds, and reads those of the sink."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        self._bootstrap, self._rate = bootstrap, rate
        self.sent = 0
        self.seen: dict[int, float] = {}
        """When each record arrived, first."""
        self._stopping = threading.Event()
        self._reading_ends = threading.Event()
        self._sending = threading.Thread(target=self._send)
        self._reading = threading.Thread(target=self._read)
        self._sending.start()
        self._reading.start()

    def _send(self) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 0})
        while not self._stopping.wait(1 / self._rate):
            value = json.dumps({"id": self.sent}).encode()
            producer.produce("events", value, key=f"u{self.sent % 100}".encode())
            producer.poll(0)
            self.sent += 1
        producer.flush()

    def _read(self) -> None:
        settings = {
            "bootstrap.servers": self._bootstrap,
            "group.id": "takeover",
            "auto.offset.reset": "earliest",
        }
        reader = Consumer(settings)
        reader.subscribe(["seen"])
        while not self._reading_ends.is_set():
            message = reader.poll(0.1)
            if message is not None and message.error() is None:
                self.seen.setdefault(json.loads(message.value())["id"], time.monotonic())
        reader.close()

    def until_after(self, number: int) -> float:
        """Return when the first record from `number` on arrived."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            if late := [moment for id_, moment in list(self.seen.items()) if id_ >= number]:
                return min(late)
            time.sleep(0.01)
        raise SystemExit("no record has arrived since the kill")

    def stop(self) -> int:
        """Return how many records never arrived."""
        self._stopping.set()
        self._sending.join()
        deadline = time.monotonic() + LONGEST
        while len(self.seen) < self.sent and time.monotonic() < deadline:
            time.sleep(0.1)
        self._reading_ends.set()
        self._reading.join()
        return self.sent - len(self.seen)


def measure(kills: int, rate: int, *, standby: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in FILES.items():
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
        bootstrap = keep_broker(root).address
        try:
            create_missing(admin_of(Cluster(bootstrap)), [TopicConfig("events", 4), TopicConfig("seen", 4)])
            _measure(root, Traffic(bootstrap, rate), kills, standby=standby)
        finally:
            stop_broker(root, force=True)


def _measure(root: Path, traffic: Traffic, kills: int, *, standby: bool) -> None:
    dice, times = random.Random(1), []
    supervisor = Supervisor(root, standby=standby)
    traffic.until_after(0)
    for _ in range(kills):
        supervisor.until_standby()
        time.sleep(dice.uniform(2, 6))
        number, moment = traffic.sent, supervisor.kill()
        times.append(traffic.until_after(number) - moment)
        print(f"  {times[-1]:.1f} s", flush=True)
    missing = traffic.stop()
    supervisor.stop()
    print(
        f"{'standby' if standby else 'restart'}: {len(times)} kills, median {statistics.median(times):.1f} s, "
        f"longest {max(times):.1f} s; {traffic.sent:,} records, {missing} missing",
        flush=True,
    )
    if missing:
        raise SystemExit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--rate", type=int, default=50, help="records a second")
    parser.add_argument("--only", choices=("restart", "standby"))
    options = parser.parse_args()
    for standby in (False, True):
        if options.only in {None, "standby" if standby else "restart"}:
            measure(options.kills, options.rate, standby=standby)


if __name__ == "__main__":
    main()
