"""What a micro-batch costs, query by query: `uv run python benchmarks/batches.py [--query active_users]`.

The queries of the example run one after another in one JVM, each alone, over topics that get a few records a second.
A row has the median of a batch's seconds, and per batch: CPU seconds in all, those of the JVM, of its compilers and
garbage collector, and of Python with its workers; then how many jobs, stages and tasks Spark ran. The broker and the
generator are other processes, and do not count. `--set name=value` adds a Spark setting, to try one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import build  # noqa: F401 - finds the tests' helpers
from msgspec.structs import replace
from pyspark import SparkContext
from pyspark.sql import SparkSession
from run import MILLSTREAM, copied
from support.runs import job_of

from millstream.deploy.engine import Engine, start_engine
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.stages.execute import begin_stages, stages_of_queries, update_lock
from millstream.deploy.values import BatchCompleted, Event, QueryFailed
from millstream.local.broker import shared_broker
from millstream.project.contents import with_contents

TICK = os.sysconf("SC_CLK_TCK")
PATIENCE = 120.0
TRIGGER = "1 second"
PARTS = {"C1 Compiler": "compilers", "C2 Compiler": "compilers", "GC Thread": "collector", "G1 ": "collector"}
COLUMNS = ("seconds", "CPU s", "JVM", "compilers", "collector", "Python", "jobs", "stages", "tasks")


class Spent(NamedTuple):
    """CPU seconds so far, and the number of jobs, stages and tasks."""

    jvm: float
    compilers: float
    collector: float
    python: float
    jobs: int
    stages: int
    tasks: int

    def per_batch(self, start: Spent, batches: int) -> list[float]:
        return [(now - then) / batches for now, then in zip(self, start, strict=True)]


def cpu(stat: Path) -> float:
    """Return the CPU seconds of a process or thread, from its `stat` in /proc."""
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def descendants(process: int) -> list[int]:
    processes = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            processes += [child, *descendants(child)]
    return processes


def spent(spark: SparkSession) -> Spent:
    gateway: Any = SparkContext._gateway  # noqa: SLF001
    java = gateway.proc.pid
    parts = dict.fromkeys(PARTS.values(), 0.0)
    for task in Path(f"/proc/{java}/task").iterdir():
        try:
            name = (task / "comm").read_text()
            for prefix, part in PARTS.items():
                if name.startswith(prefix):
                    parts[part] += cpu(task / "stat")
        except OSError:
            continue  # the thread has ended
    python = sum(cpu(Path(f"/proc/{process}/stat")) for process in (os.getpid(), *descendants(java)))
    context: Any = spark._jsc.sc()  # noqa: SLF001
    executors = context.statusStore().executorList(False)
    return Spent(
        cpu(Path(f"/proc/{java}/stat")),
        **parts,
        python=python,
        jobs=int(context.dagScheduler().nextJobId()),
        stages=int(context.dagScheduler().nextStageId()),
        tasks=sum(executors.apply(index).totalTasks() for index in range(executors.size())),
    )


def measure(running: Engine, name: str, events: SimpleQueue[Event], warm: int, batches: int) -> list[float]:
    """Run a query alone; return the figures of `COLUMNS`."""
    queries = [query for query in running.job.physical.queries if query.name == name]
    live = LiveQueries(running)
    live.start(queries, stages_of_queries(running, queries), awaited=())
    try:
        for _ in range(warm):
            next_batch(events)
        start = spent(running.spark)
        seconds = [next_batch(events) for _ in range(batches)]
        used = spent(running.spark).per_batch(start, batches)
    finally:
        live.end()
    return [statistics.median(seconds), used[0] + used[3], *used]


def next_batch(events: SimpleQueue[Event]) -> float:
    """Wait for a batch with rows, and return its seconds."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            event = events.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            sys.exit(f"no batch within {PATIENCE:.0f} seconds")
        if isinstance(event, QueryFailed):
            sys.exit(event.diagnostic.message)
        if isinstance(event, BatchCompleted) and event.batch.rows:
            return event.batch.seconds


def with_settings(root: Path, settings: list[str]) -> None:
    profiles = root / "profiles.yml"
    named = (setting.split("=", 1) for setting in settings)
    more = ", ".join(f"{name}: '{value}'" for name, value in named)
    profiles.write_text(profiles.read_text().replace("{master", f"{{spark: {{{more}}}, master"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--query", action="append", help="by default all")
    parser.add_argument("--rate", type=float, default=12, help="records a second to each topic")
    parser.add_argument("--warm", type=int, default=10, help="batches before the measured ones")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        copied(root, TRIGGER)
        with_settings(root, arguments.set)
        job = job_of(root)
        job = replace(job, project=with_contents(job.project), trigger=TRIGGER)
        events: SimpleQueue[Event] = SimpleQueue()
        with (
            shared_broker(root),
            start_engine(
                job, job.physical.queries, root / ".millstream", events.put, endless=True
            ) as running,
        ):
            queries = running.job.physical.queries
            begin_stages(running, queries, stages_of_queries(running, queries))
            update_lock(running, {query.name for query in queries})
            command = [*MILLSTREAM, "produce", "--rate", str(arguments.rate), "--quiet"]
            produce = subprocess.Popen(command, cwd=root)
            try:
                for _ in range(arguments.rounds):
                    print(f"{'per batch of':28}" + "".join(f"{column:>10}" for column in COLUMNS))
                    for query in queries:
                        if not arguments.query or query.name in arguments.query:
                            figures = measure(running, query.name, events, arguments.warm, arguments.batches)
                            print(
                                f"{query.name:28}" + "".join(f"{figure:10.2f}" for figure in figures),
                                flush=True,
                            )
            finally:
                produce.terminate()
                produce.wait()


if __name__ == "__main__":
    main()
