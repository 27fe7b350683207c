"""CPU seconds per million rows of `dedupe: {within: 1 hour}`, exact and not.

    uv run python benchmarks/dedupe.py --keys 1000 1000000

Each line is a process of its own: batches warm it up, and then those that count follow. A batch has ten minutes of
event time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import product

from pyspark.sql import DataFrame, SparkSession

from millstream.engine.queries.start import make_view
from millstream.engine.spark.functions import functions_jar
from millstream.project.values import Project
from millstream.queries.emit.steps import DedupeView

KINDS = ("none", "at least", "exact")
WARM = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument("--rows", type=int, default=200_000, help="of a batch")
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(measured(*json.loads(arguments.only))))
        return
    print(f"{'dedupe':10} {'keys':>10} {'passed':>8} {'CPU s':>7}")
    for keys, kind in product(arguments.keys, KINDS):
        command = [
            sys.executable,
            __file__,
            "--only",
            json.dumps([kind, keys, arguments.rows, arguments.batches]),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        passed, cpu = json.loads(done.stdout.splitlines()[-1])
        print(f"{kind:10} {keys:10,} {passed:8.1%} {cpu:7.1f}", flush=True)


def measured(kind: str, keys: int, rows: int, batches: int) -> tuple[float, float]:
    """Return the share of rows that pass, and CPU seconds per million rows."""
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", str(functions_jar()))
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.streaming.stateStore.providerClass", _ROCKSDB)
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    passed: list[int] = []
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = _deduplicated(session, kind, keys, rows).writeStream.foreachBatch(
            lambda batch, _: passed.append(batch.count())
        )
        query = writer.option("checkpointLocation", checkpoint).start()
        began = _reached(session, query, WARM)
        used = _reached(session, query, WARM + batches) - began
        query.stop()
    counted = passed[WARM : WARM + batches]
    session.stop()
    return sum(counted) / rows / batches, used / (rows * batches / 1e6)


_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def _deduplicated(session: SparkSession, kind: str, keys: int, rows: int) -> DataFrame:
    source = session.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).load()
    source.createOrReplaceTempView("numbers")
    session.sql(
        f"select concat('key-', hash(value) % {keys}) as id, timestamp_millis(value * 600000 div {rows}) as at, "
        "value, concat('a text of some length ', value) as note, value * 0.5d as amount from numbers"
    ).createOrReplaceTempView("rows")
    late = "watermark at delay of interval 1 minute where spark_partition_id() >= 0"
    session.sql(f"select * from rows {late}").createOrReplaceTempView("events")
    if kind == "none":
        return session.sql("select /*+ repartition(2, id) */ * from events")
    step = DedupeView("passed", "events", ("id",), "1 hour", exact_by="at" if kind == "exact" else "")
    project: Project = None  # type: ignore[assignment]  # no step of this kind reads it
    make_view(session, step, project, "append")
    return session.table("passed")


def _reached(session: SparkSession, query: object, batch: int) -> float:
    """Wait until a batch is complete; return the CPU seconds of the JVM."""
    while (done := query.lastProgress) is None or done["batchId"] < batch:  # type: ignore[attr-defined]
        if not query.isActive:  # type: ignore[attr-defined]
            raise SystemExit(str(query.exception()))  # type: ignore[attr-defined]
        time.sleep(0.05)
    java = session.sparkContext._jvm.java.lang  # noqa: SLF001 - the JVM's own process
    duration = java.ProcessHandle.current().info().totalCpuDuration().get()
    return float(duration.toMillis()) / 1000


if __name__ == "__main__":
    main()
