"""Measure the guarantees of sinks: `python benchmarks/guarantees.py --rounds 6`.

The same records are sent at least once and exactly once, alternating in one process: large batches, for the CPU
seconds of Spark and of the broker for a million records, and small ones, for the time and CPU of a batch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from millstream.engine.queries.deliveries import BatchWriter, write_records
from millstream.engine.queries.exactly_once import ExactlyOnce
from millstream.engine.spark.jars import jars_of
from millstream.engine.spark.session import start_spark
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster, reveal_options
from millstream.kafka.sent_batches import create_sent_batches
from millstream.kafka.settings import sink_options
from millstream.kafka.topics import TopicConfig, create_missing
from millstream.local.broker import broker_folder_of, keep_broker, stop_broker
from millstream.local.server.state import read_pid
from millstream.project.values import Target
from millstream.stores.registry import jar_files

RECORDS, TOPICS = 500_000, ("at_least_once", "exactly_once")
SMALL, BATCHES = 20, 30
"""Records of a small batch, and batches of a round."""


def cpu_of(pids: list[int]) -> float:
    message = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(fields[n]) for fields in message for n in (11, 12)) / os.sysconf("SC_CLK_TCK")


def senders(cluster: Cluster) -> dict[str, BatchWriter]:
    admin = admin_of(cluster)
    create_missing(admin, [TopicConfig(topic, 4) for topic in TOPICS])
    create_sent_batches(admin, "batches")
    kafka = reveal_options(sink_options(cluster, {}, "1 second"))
    transactions = ExactlyOnce(cluster, "benchmark", "batches", "benchmark/1", TOPICS[1:], Counter())
    plain = BatchWriter("benchmark/1", kafka, {}, lambda *_: None)
    return {
        "at_least_once": plain,
        "exactly_once": BatchWriter("", kafka, {}, plain.merge, exactly_once=transactions),
    }


def measure(
    name: str, rounds: int, pids: list[int], work: Mapping[str, Callable[[], None]], unit: float
) -> None:
    """Print the medians of all rounds but the first; `unit` is how many of it a round does."""
    costs: dict[str, list[tuple[float, float]]] = {topic: [] for topic in work}
    for _ in range(rounds):
        for topic, call in work.items():
            before, began = cpu_of(pids), time.monotonic()
            call()
            costs[topic].append(((cpu_of(pids) - before) / unit, (time.monotonic() - began) / unit))
    for topic, seconds in costs.items():
        cpu, wall = (statistics.median(values) for values in zip(*seconds[1:], strict=True))
        shown = ", ".join(f"{one:.3f}" for one, _ in seconds[1:])
        print(f"{name:8} {topic:14} {cpu:7.3f} s of CPU ({shown}), {wall:7.3f} s", flush=True)


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="millstream-") as temporary:
        folder = Path(temporary)
        broker = keep_broker(folder)
        target = Target("benchmark", "local", {"master": "local[2]"})
        spark: Any = start_spark(
            "benchmark", target, jars_of(("kafka", *jar_files())), folder / "spark", amount="endless"
        )
        try:
            jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # noqa: SLF001 - public in py4j
            pids = [jvm, read_pid(broker_folder_of(folder))]
            record = "cast(cast(id as string) as binary) as key, cast(repeat(cast(id as string), 30) as binary) as value"
            header = "array(named_struct('key', 'position', 'value', cast('a-1-1' as binary))) as headers"
            number = iter(range(1 << 30))

            def sending(topic: str, stores: BatchWriter, count: int, batches: int) -> Callable[[], None]:
                sql = f"select '{topic}' as topic, {record}, {header} from range(0, {count}, 1, 2)"

                def call() -> None:
                    for _ in range(batches):
                        write_records(spark.sql(sql), stores, next(number))

                return call

            for name, count, batches, unit in (
                ("million", RECORDS, 1, RECORDS / 1_000_000),
                ("batch", SMALL, BATCHES, BATCHES),
            ):
                work = {
                    topic: sending(topic, stores, count, batches)
                    for topic, stores in senders(Cluster(broker.address)).items()
                }
                measure(name, rounds, pids, work, unit)
        finally:
            spark.stop()
            stop_broker(folder, force=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    main(parser.parse_args().rounds)
