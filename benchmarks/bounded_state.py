"""A run whose state has a limit of memory, and ten times more keys than fit: memory over time, and right answers.

    uv run python benchmarks/bounded_state.py --keys 3000000 --memory "16 MB"

A project counts and sums numbers by a key of 64 characters; with `--distinct`, it keeps the first record of each key.
Half-way, the run is stopped and started again, so that the state is loaded from its checkpoint. The heap of the JVM is in memory
from the start, so only the rest can grow. At the end, the newest record of each key is compared with what was sent.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from millstream.local.broker import keep_broker, stop_broker

MILLSTREAM = (sys.executable, "-m", "millstream")
PARTITIONS = 2
BATCH = 50_000
FILES = {
    "pyproject.toml": '[project]\nname = "bounded"\n[tool.millstream]\nname = "bounded"\n',
    "profiles.yml": """
bounded:
  target: local
  outputs:
    local:
      master: local[2]
      kafka: embedded
      trigger: 100 milliseconds
      spark:
        spark.sql.shuffle.partitions: 4
        spark.driver.memory: 1g
        spark.driver.extraJavaOptions: "-Xms1g -XX:+AlwaysPreTouch"
""",
    "models/sources.yml": """
sources:
  - name: web
    topics:
      - name: events
        max_rows_per_trigger: {batch}
        key: {{name: id, type: string}}
        columns: [{{name: amount, type: bigint}}]
""",
    "models/totals.sql": """
{{{{ config(materialized='sink', key='id', unbounded_state='accept'{state}) }}}}
{sql}
""",
}
COUNTED = "select id, count(*) as events, sum(amount) as total from {{ source('web', 'events') }} group by id"
DISTINCT = "select distinct id, 1 as events, amount as total from {{ source('web', 'events') }}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--memory", default="16 MB", help="the limit; an empty text is no limit")
    parser.add_argument("--distinct", action="store_true", help="keep first records instead of counting")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        state = f", state={{'memory': '{arguments.memory}'}}" if arguments.memory else ""
        for path, text in FILES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            sql = DISTINCT if arguments.distinct else COUNTED
            (root / path).write_text(text.format(batch=BATCH, state=state, sql=sql))
        try:
            measure(root, keep_broker(root).address, arguments.keys, distinct=arguments.distinct)
        finally:
            stop_broker(root, force=True)


def measure(root: Path, bootstrap: str, keys: int, *, distinct: bool) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(name, PARTITIONS, 1) for name in ("events", "totals")]
    for future in admin.create_topics(topics).values():
        future.result(30)
    sent: dict[str, tuple[int, int]] = {}
    print(
        f"{'second':>8} {'records':>10} {'keys':>10} {'files MB':>9} {'RocksDB MB':>11} {'JVM MB':>7} {'batch s':>8}"
    )
    began, read = time.monotonic(), 0
    for part in range(2):
        numbers = [*range(keys * part // 2, keys * (part + 1) // 2), *repeated(keys * part // 2)]
        send(bootstrap, numbers, sent)
        with running(root) as lines:
            left = len(numbers)
            for event in lines:
                if event["event"] == "restored":
                    rate = event["bytes"] / event["seconds"] / 1e6
                    print(
                        f"loaded {event['bytes'] / 1e6:.1f} MB in {event['seconds']:.2f} s: {rate:.0f} MB/s"
                    )
                if event["event"] != "batch":
                    continue
                (operator,) = event["operators"]
                left, read = left - event["rows"], read + event["rows"]
                print(
                    f"{time.monotonic() - began:8.0f} {read:10,} {operator['rows']:10,} "
                    f"{operator['figures'].get('rocksdbSstFileSize', 0) / 1e6:9.1f} "
                    f"{operator['bytes'] / 1e6:11.1f} {event['resident']:7.0f} {event['seconds']:8.1f}",
                    flush=True,
                )
                if left <= 0:
                    break
    stored = newest(bootstrap)
    if distinct:
        sent = {key: (1, total // count) for key, (count, total) in sent.items()}
    wrong = sum(stored.get(key) != value for key, value in sent.items())
    print(f"{len(stored):,} keys, {wrong:,} of {len(sent):,} wrong")
    if wrong or len(stored) != len(sent):
        raise SystemExit(1)


def repeated(keys: int) -> list[int]:
    """Return some of the first keys, so that state on disk is read again."""
    return random.Random(7).sample(range(keys), keys // 5)


def send(bootstrap: str, numbers: Iterable[int], sent: dict[str, tuple[int, int]]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "compression.type": "lz4"})
    for number in numbers:
        key, amount = hashlib.sha256(str(number).encode()).hexdigest(), number % 1000
        count, total = sent.get(key, (0, 0))
        sent[key] = (count + 1, total + amount)
        while True:
            try:
                producer.produce("events", key=key, value=json.dumps({"amount": amount}))
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(60):
        raise SystemExit("not all records were sent")


@contextmanager
def running(root: Path) -> Iterator[Iterator[dict[str, Any]]]:
    """Run the project; yield its events, of which those of batches have the memory of the JVM in MB."""
    process = subprocess.Popen(
        [*MILLSTREAM, "run", "--output", "json", "--port", "0"], cwd=root, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield events(process.stdout, process.pid)
    finally:
        process.terminate()
        threading.Thread(target=process.stdout.read, daemon=True).start()
        process.wait(120)


def events(lines: IO[str], process: int) -> Iterator[dict[str, Any]]:
    for line in lines:
        event = json.loads(line) if line.endswith("}\n") else {}
        if "event" not in event:
            raise SystemExit(f"the run ended: {line}{lines.read()}")
        yield event | {"resident": resident(process)} if event["event"] == "batch" else event
    raise SystemExit("the run ended")


def resident(process: int) -> float:
    """Return the memory of the JVM below a process, in MB."""
    processes = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,rss=,comm="], check=True, capture_output=True, text=True
    )
    rows = [line.split() for line in processes.stdout.splitlines()]
    tree = {str(process)}
    while more := {pid for pid, parent, *_ in rows if parent in tree} - tree:
        tree |= more
    return sum(int(rss) * 1024 / 1e6 for pid, _, rss, name, *_ in rows if pid in tree and name == "java")


def newest(bootstrap: str) -> dict[str, tuple[int, int]]:
    """Return the count and the total of the newest record of each key."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "check", "enable.auto.commit": False})
    totals: dict[str, tuple[int, int]] = {}
    for number in range(PARTITIONS):
        partition = TopicPartition("totals", number, 0)
        _, end = consumer.get_watermark_offsets(partition, timeout=10)
        consumer.assign([partition])
        offset = 0
        while offset < end:
            for message in consumer.consume(10_000, timeout=10):
                row = json.loads(message.value())
                totals[message.key().decode()] = row["events"], row["total"]
                offset = message.offset() + 1
    consumer.close()
    return totals


if __name__ == "__main__":
    main()
