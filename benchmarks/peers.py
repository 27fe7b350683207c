"""Millstream next to what a user would pick instead: `uv run python benchmarks/peers.py`.

The pipelines of `peers/`, one alone or all together, run as a project of Millstream, in Kafka Streams, and in PySpark by hand
and by an expert; all in turns, each time as a process of its own, over the same topics of one broker on this machine.
First, each runs over few events, and its records are compared with those that plain Python gives, one by one.
Then, in each round, it runs over both numbers of events. A row has the CPU seconds of the process and of all that
it started, with user and system time: in all, for the smaller number of events; and marginal, for each million of further
events, which leaves out what starting costs. Medians, and in brackets the least and the most.
The broker's own CPU does not count. Figures of Kafka Streams include two seconds in which it waits for nothing, at little cost.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PEERS = HERE / "peers"
sys.path[:0] = [str(HERE.parent / "framework/tests"), str(PEERS / "kafka_streams")]

import pipelines  # noqa: E402
from confluent_kafka import Producer  # noqa: E402
from confluent_kafka.admin import AdminClient  # noqa: E402
from cpu_time import adopt_orphans, cpu_of  # noqa: E402
from projects.pipelines import TOPICS, write  # noqa: E402
from support.runs import create_topics, pairs, queue_record, received  # noqa: E402

from millstream.local.broker import shared_broker  # noqa: E402
from millstream.local.jars import Jar, fetch_jars, read_catalog  # noqa: E402
from millstream.local.java import find_java  # noqa: E402

PARTITIONS = 2
FEW = 20_000
STREAMS = (
    Jar(
        "org.apache.kafka",
        "kafka-streams",
        "4.1.2",
        "415998b32e8627b3ce21ff87226c66f3313e9fc52eca2513a3600bf492e3cbac",
        2052311,
    ),
    Jar(
        "org.rocksdb",
        "rocksdbjni",
        "9.7.3",
        "5ca63e0e955f101f7af1c1fb8ce260b5d3a5701cea7d8c2852b9d56031a57221",
        70837810,
    ),
)
WORKLOADS = {"scoring": ("efficient",), "all": tuple(TOPICS)} | {mode: (mode,) for mode in TOPICS}
FINAL_ONLY = {"expert, final topics"}


class Side:
    """One way to run pipelines: a command for some of them, over a topic, with a prefix of the topics that it writes."""

    def __init__(self, name: str, command: Callable[[str, str, str, Path], list[str]]) -> None:
        self.name, self.command = name, command

    def run(self, workload: str, events: str, prefix: str, folder: Path) -> float:
        """Run to the end; return the CPU seconds."""
        return cpu_of(self.command(workload, events, prefix, folder), folder, self.name)


def sides(bootstrap: str, root: Path) -> list[Side]:
    catalog = {"broker": read_catalog()["broker"], "streams": STREAMS, "kafka": read_catalog()["kafka"]}
    jars = fetch_jars(("broker", "streams", "kafka"), catalog=catalog)
    classpath = ":".join(str(path) for path in (root / "classes", *jars["broker"], *jars["streams"]))
    compiler = find_java().program.with_name("javac")
    subprocess.run(
        [compiler, "-cp", classpath, "-d", root / "classes", PEERS / "kafka_streams/Peer.java"],
        check=True,
    )

    def millstream(workload: str, events: str, prefix: str, folder: Path) -> list[str]:
        write(folder, WORKLOADS[workload], events, prefix)
        profiles = folder / "profiles.yml"
        profiles.write_text(
            profiles.read_text().replace("kafka: embedded", f"kafka: {{bootstrap_servers: '{bootstrap}'}}")
        )
        return [sys.executable, "-m", "millstream", "build", "--no-tests"]

    def streams(workload: str, events: str, prefix: str, _: Path) -> list[str]:
        options = ["-Xmx1g", f"-Dbootstrap={bootstrap}", "-Dkeep=true", "-cp", classpath]
        return [str(find_java().program), *options, "Peer", mode(workload), events, prefix]

    def spark(script: str, *more: str) -> Callable[[str, str, str, Path], list[str]]:
        spark_options = [
            "--bootstrap",
            bootstrap,
            "--jars",
            ",".join(str(path) for path in jars["kafka"]),
            *more,
        ]

        def command(workload: str, events: str, prefix: str, folder: Path) -> list[str]:
            where = [
                "--mode",
                mode(workload),
                "--input",
                events,
                "--prefix",
                prefix,
                "--checkpoints",
                str(folder),
            ]
            return [sys.executable, str(PEERS / "pyspark" / script), *where, *spark_options]

        return command

    return [
        Side("Millstream", millstream),
        Side("Kafka Streams", streams),
        Side("PySpark by hand", spark("handwritten.py")),
        Side("expert, final topics", spark("handfused.py")),
        Side("expert, all topics", spark("expert.py")),
    ]


def mode(workload: str) -> str:
    (*_, last) = modes = WORKLOADS[workload]
    return last if len(modes) == 1 else "all"


def fill(
    bootstrap: str, topic: str, rows: Iterable[tuple[str, dict[str, Any], int]], partitions: int
) -> None:
    create_topics(bootstrap, topic, partitions=partitions)
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 50})
    for key, value, timestamp in rows:
        data = json.dumps(value, separators=(",", ":"))
        queue_record(producer, topic, key=key, value=data, timestamp=timestamp)
    assert producer.flush(60) == 0


def expected_rows(name: str) -> dict[str, Any]:
    """Return what a pipeline must give, by the identity of its records; of running totals, the newest."""
    rows = dict(getattr(pipelines, name)(pipelines.events(FEW)))
    return (
        {row["user_id"]: row for row in rows.values()}
        if name == "state"
        else {str(k): v for k, v in rows.items()}
    )


def differing(bootstrap: str, prefix: str, name: str) -> str | None:
    """Compare the last topic of a pipeline with what plain Python gives; return what differs."""
    (topic,), identity = pipelines.OUTPUTS[name]
    rows = [(key, value) for key, value in pairs(bootstrap, f"{prefix}.{topic}")]
    stored = {}
    for key, value in rows:
        row = json.loads(value)
        if name == "analytics":
            row["top_categories"] = [
                list(category.values()) if isinstance(category, dict) else category
                for category in row["top_categories"]
            ]
        stored[row["user_id"] if name == "state" else str(identity(key.decode(), row))] = row
    expected = expected_rows(name)
    if stored.keys() != expected.keys():
        return f"{topic}: {len(stored)} records, not {len(expected)}"
    if name not in {"state", "analytics"} and len(rows) != len(stored):
        return f"{topic}: {len(rows)} records for {len(stored)}"
    return next(
        (f"{topic}: {stored[id_]}, not {row}" for id_, row in expected.items() if not same(row, stored[id_])),
        None,
    )


def same(expected: Any, actual: Any) -> bool:
    """Tell whether a value is as expected; a row may have more columns, such as its key, and fields that are null."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            same(value, actual.get(name)) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(actual, list) and len(expected) == len(actual) and all(map(same, expected, actual))
    if isinstance(expected, float) or isinstance(actual, float):
        return math.isclose(expected, actual, rel_tol=1e-9, abs_tol=0.011)
    return bool(expected == actual)


def check(every: list[Side], workload: str, bootstrap: str, root: Path, numbers: Iterator[int]) -> None:
    for side in every:
        prefix = f"r{next(numbers)}"
        folder = root / prefix
        folder.mkdir()
        side.run(workload, f"c_in_{FEW}", prefix, folder)
        for name in WORKLOADS[workload]:
            if difference := differing(bootstrap, prefix, name):
                sys.exit(f"{side.name} gives other records: {difference}")
            between = () if side.name in FINAL_ONLY else TOPICS[name][:-1]
            for topic in between:
                if not received(bootstrap, f"{prefix}.{topic}"):
                    sys.exit(f"{side.name} wrote nothing to {topic}")
    print(f"{workload}: the records of all are those of plain Python, over {FEW:,} events", flush=True)


def measure(arguments: argparse.Namespace, bootstrap: str, root: Path) -> None:
    every = [side for side in sides(bootstrap, root) if not arguments.side or side.name in arguments.side]
    fill(bootstrap, "c_products", ((k, v, pipelines.T0) for k, v in pipelines.products().items()), 1)
    less, more = arguments.events
    for events in (FEW, less, more):
        rows = ((e["user_id"], e, e["timestamp"]) for e in pipelines.events(events))
        fill(bootstrap, f"c_in_{events}", rows, PARTITIONS)
    numbers = count()
    for workload in arguments.workloads:
        if not arguments.no_check:
            check(every, workload, bootstrap, root, numbers)
    costs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for round_ in range(arguments.rounds):
        for workload in arguments.workloads:
            turn = every[round_ % len(every) :] + every[: round_ % len(every)]
            for side in turn:
                used = []
                for events in (less, more):
                    prefix = f"r{next(numbers)}"
                    folder = root / prefix
                    folder.mkdir()
                    used.append(side.run(workload, f"c_in_{events}", prefix, folder))
                    remove(bootstrap, prefix, folder)
                marginal = (used[1] - used[0]) / (more - less) * 1e6
                costs.setdefault((workload, side.name), []).append((used[0], marginal))
                print(
                    f"  round {round_ + 1}: {workload}, {side.name}: {used[0]:.1f} and {used[1]:.1f} s",
                    file=sys.stderr,
                    flush=True,
                )
    print_medians(arguments, every, costs)


def remove(bootstrap: str, prefix: str, folder: Path) -> None:
    """Remove what a run wrote: two million events in eleven topics take gigabytes."""
    shutil.rmtree(folder)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [
        name for name in admin.list_topics(timeout=30).topics if name.startswith((f"{prefix}.", f"{prefix}-"))
    ]
    for deletion in (admin.delete_topics(topics) if topics else {}).values():
        deletion.result(30)


def print_medians(
    arguments: argparse.Namespace, every: list[Side], costs: dict[tuple[str, str], list[tuple[float, float]]]
) -> None:
    print(
        f"{'CPU seconds':32}{f'in all, {arguments.events[0]:,}':>26}{'ratio':>7}{'per further million':>26}{'ratio':>7}"
    )
    for workload in arguments.workloads:
        ours = [statistics.median(figures) for figures in zip(*costs[workload, every[0].name], strict=True)]
        for side in every:
            columns = list(zip(*costs[workload, side.name], strict=True))
            texts = [
                f"{statistics.median(c):14.1f} {f'({min(c):.1f}-{max(c):.1f})':>11}{statistics.median(c) / base:7.2f}"
                for c, base in zip(columns, ours, strict=True)
            ]
            print(f"{workload:10} {side.name:21}{''.join(texts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", choices=[*WORKLOADS, []], default=["scoring", "all"])
    parser.add_argument("--events", type=int, nargs=2, default=(500_000, 2_000_000))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", action="append", help="only these, such as Millstream")
    parser.add_argument("--no-check", action="store_true", help="measure without comparing records first")
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder, shared_broker(Path(folder)) as starting:
        measure(arguments, starting.ready().address, Path(folder))


if __name__ == "__main__":
    main()
