"""Starts and stops of a run with many queries: `uv run python benchmarks/many_queries.py --models 300 --rounds 5`.

A generated project (`generate.py`; 300 models are about 100 queries) runs with a separate broker, round after round on
the same checkpoints. Every topic gets records once half of the queries have started, and each second from the time
that all have. `--stops` says when each round is stopped:

- `starting`: half of the queries have started,
- `batches`: all queries have started, and records keep coming,
- `idle`: all queries have started, and no batch was stored for 20 seconds,
- `kill`: as `batches`, by `kill -9` of the run and its JVM.

For each round: queries that started and that failed, the seconds until all had started, the seconds from SIGTERM to the
end of the last query and to the end of the process, CPU seconds, memory and threads of all its processes. A failure is
printed with its code and reason, and the command ends with 1, also if a stop took longer than it may. If a stop takes
longer than 15 seconds, the threads of Python and of the JVM are written to files next to the log.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from confluent_kafka import Producer
from generate import KEY, generate, record
from run import processes, used

from millstream.compile import compile_project
from millstream.local.broker import keep_broker, stop_broker
from millstream.project.load import load_project
from millstream.queries.topology import compiled_topology, physical_of

RUN = """
import faulthandler, signal
faulthandler.register(signal.SIGUSR1, all_threads=True)
from millstream.__main__ import main
main()
"""
LONGEST = 35.0
"""Seconds that a stop may take."""
DUMP_AFTER = 15.0
QUIET = 20.0
PATIENCE = 3600.0
USERS = 20
STOPS = ("starting", "batches", "idle", "kill")


class Round(NamedTuple):
    stop: str
    started: int
    failed: int
    start: float
    stopped: float
    ended: float
    cpu: float
    megabytes: float
    threads: int


class Log:
    """The events of a run, as they come."""

    def __init__(self, run: subprocess.Popen[str], path: Path) -> None:
        self.events: list[dict[str, Any]] = []
        self.times: list[float] = []
        self._run, self._path = run, path
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._run.stdout is not None
        with self._path.open("w") as log:
            for line in self._run.stdout:
                log.write(line)
                log.flush()
                self.times.append(time.monotonic())
                self.events.append(json.loads(line))

    def of(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.events if line["event"] == event]

    def started(self) -> int:
        return len({line["query"] for line in self.of("started")})

    def last(self, event: str) -> float:
        """Return when the last event of this name came, or 0."""
        times = zip(tuple(self.times), self.events, strict=False)
        return max((seconds for seconds, line in times if line["event"] == event), default=0.0)

    def close(self) -> None:
        self._thread.join()


class Traffic:
    """Sends records to every topic."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        sources = load_project(folder, None, None, None).sources.values()
        self._topics = {source.topic: [column.name for column in source.columns] for source in sources}
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._random = Random(1)

    def send(self, count: int) -> None:
        for topic, columns in self._topics.items():
            for _ in range(count):
                value = record(self._random, columns, USERS)
                self._producer.produce(topic, key=str(value[KEY]), value=json.dumps(value))
        self._producer.flush(30)


def queries_of(folder: Path) -> int:
    topology = compiled_topology(compile_project(folder), tests=True)
    return len(physical_of(topology, None).queries)


def threads_of(pid: int) -> int:
    return sum(
        len(list(tasks.iterdir()))
        for process in processes(pid)
        if (tasks := Path(f"/proc/{process}/task")).exists()
    )


def dump(run: subprocess.Popen[str], path: Path) -> None:
    """Write where all threads are: those of Python go to the log of errors."""
    run.send_signal(signal.SIGUSR1)
    for pid in processes(run.pid):
        with suppress(FileNotFoundError):  # it has ended since
            if Path(f"/proc/{pid}/comm").read_text().strip() == "java":
                command = ["jstack", str(pid)]
                path.write_text(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def until(run: subprocess.Popen[str], done: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not done():
        if run.poll() is not None:
            sys.exit(f"the run ended with {run.returncode}")
        if time.monotonic() - began > PATIENCE:
            sys.exit("the run did not come so far")
        time.sleep(0.1)


def measure(folder: Path, number: int, stop: str, queries: int, traffic: Traffic) -> Round:
    began = time.monotonic()
    with (folder / f"round{number}.err").open("w") as errors:
        run = subprocess.Popen(
            [sys.executable, "-c", RUN, "run", "--output", "json", "--port", "0"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    log = Log(run, folder / f"round{number}.log")
    until(run, lambda: log.started() >= queries // 2)
    traffic.send(20)
    if stop != "starting":
        until(run, lambda: log.started() >= queries)
        start = time.monotonic() - began
        if stop == "idle":
            until(run, lambda: time.monotonic() - max(log.last("batch"), log.last("started")) > QUIET)
        else:
            for _ in range(10):
                traffic.send(20)
                time.sleep(1)
    else:
        start = time.monotonic() - began
    megabytes, cpu = used(run.pid)
    threads, signalled = threads_of(run.pid), time.monotonic()
    stopped, ended = ended_by(run, log, stop, folder / f"round{number}.threads")
    failed = [*log.of("failed"), *log.of("left_out")]
    for event in failed:
        print(f"  {event}", flush=True)
    return Round(
        stop,
        log.started(),
        len(failed),
        start,
        max(0.0, stopped - signalled),
        ended - signalled,
        cpu,
        megabytes,
        threads,
    )


def ended_by(run: subprocess.Popen[str], log: Log, stop: str, path: Path) -> tuple[float, float]:
    """Stop a run; return when its last query stopped, and when it ended."""
    if stop == "kill":
        for pid in processes(run.pid):
            if Path(f"/proc/{pid}/comm").exists():
                subprocess.run(["kill", "-9", str(pid)], check=False, capture_output=True)
    else:
        run.send_signal(signal.SIGTERM)
        try:
            run.wait(DUMP_AFTER)
        except subprocess.TimeoutExpired:
            dump(run, path)
    run.wait()
    ended = time.monotonic()
    log.close()
    return log.last("stopped"), ended


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stops", default="batches", help="when each round stops, separated by commas")
    parser.add_argument("--folder", type=Path, help="where the project and the logs are; default: temporary")
    arguments = parser.parse_args()
    stops = arguments.stops.split(",")
    if not set(stops) <= set(STOPS):
        parser.error(f"--stops takes {', '.join(STOPS)}")
    folder = arguments.folder or Path(tempfile.mkdtemp())
    generate(folder, arguments.models, arguments.seed, warn=True)
    queries = queries_of(folder)
    rounds = []
    server = keep_broker(folder)
    try:
        traffic = Traffic(folder, server.address)
        print(
            f"{'stop':9} {'started':>9} {'failed':>6} {'start s':>8} {'queries s':>9} {'stop s':>7} {'CPU s':>6} {'MB':>6} {'threads':>7}"
        )
        for number in range(arguments.rounds):
            measured = measure(folder, number, stops[number % len(stops)], queries, traffic)
            rounds.append(measured)
            print(
                f"{measured.stop:9} {measured.started:4} / {queries:<3} {measured.failed:5} {measured.start:8.0f} {measured.stopped:9.1f} "
                f"{measured.ended:7.1f} {measured.cpu:6.0f} {measured.megabytes:6.0f} {measured.threads:7}",
                flush=True,
            )
    finally:
        stop_broker(folder, force=True)
    if arguments.folder is None:
        shutil.rmtree(folder)
    sys.exit(any(measured.failed or measured.ended > LONGEST for measured in rounds))


if __name__ == "__main__":
    main()
