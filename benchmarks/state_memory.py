"""What states in RocksDB take of a process: memory that RocksDB reports, and memory of the whole JVM.

    uv run python benchmarks/state_memory.py --keys 1000 1000000 --partitions 2 20

Each line is a process of its own, with a heap of 1 GB that is in memory from the start, so that only the rest
can grow.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, expr
from pyspark.sql.functions import sum as total

STATE = "spark.sql.streaming.stateStore."
KINDS = ("aggregate", "dedupe", "join")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument("--partitions", type=int, nargs="+", default=[2])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        kind, keys, partitions = json.loads(arguments.only)
        print(json.dumps(measured(kind, keys, partitions)))
        return
    print(
        f"{'state':10} {'keys':>10} {'stores':>6} {'rows':>10} {'files MB':>9} {'RocksDB MB':>11} {'JVM + MB':>9}"
    )
    for kind, keys, partitions in product(arguments.kinds, arguments.keys, arguments.partitions):
        command = [sys.executable, __file__, "--only", json.dumps([kind, keys, partitions])]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{kind:10} {keys:10,} {figures['stores']:6} {figures['rows']:10,} {figures['files']:9.1f} "
            f"{figures['rocksdb']:11.1f} {figures['grown']:9.0f}",
            flush=True,
        )


def measured(kind: str, keys: int, partitions: int) -> dict[str, float]:
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-Xms1g -XX:+AlwaysPreTouch")
        .config("spark.sql.shuffle.partitions", partitions)
        .config("spark.ui.enabled", "false")
        .config(
            f"{STATE}providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config("spark.sql.streaming.join.stateFormatVersion", 3)
        .getOrCreate()
    )
    batch = max(200_000, keys // 10)
    source = session.readStream.format("rate-micro-batch").option("rowsPerBatch", batch).load()
    java = session.sparkContext._jvm.java.lang  # noqa: SLF001 - the JVM's own process
    process = java.ProcessHandle.current().pid()
    before = _resident(process)
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            _state(kind, source, keys)
            .writeStream.outputMode("update" if kind == "aggregate" else "append")
            .option("checkpointLocation", checkpoint)
            .format("noop")
            .start()
        )
        while query.lastProgress is None or query.lastProgress["batchId"] < keys // batch + 3:
            if not query.isActive:
                raise SystemExit(str(query.exception()))
            time.sleep(0.5)
        (state,) = query.lastProgress["stateOperators"]
        java.System.gc()
        grown = _resident(process) - before
        query.stop()
    session.stop()
    return {
        "stores": state["numStateStoreInstances"],
        "rows": state["numRowsTotal"],
        "files": state["customMetrics"]["rocksdbSstFileSize"] / 2**20,
        "rocksdb": state["memoryUsedBytes"] / 2**20,
        "grown": grown,
    }


def _state(kind: str, source: DataFrame, keys: int) -> DataFrame:
    key = (col("value") % keys).alias("key")
    match kind:
        case "aggregate":
            return source.groupBy(key).agg(count("*"), total("value"))
        case "dedupe":
            return source.select(key).dropDuplicates(["key"])
    left = source.select(key, "timestamp").withWatermark("timestamp", "100 days")
    right = source.select((col("value") % keys).alias("other"), col("timestamp").alias("at"))
    within = "key = other and at between timestamp - interval 1 day and timestamp + interval 1 day"
    return left.join(right.withWatermark("at", "100 days"), expr(within))


def _resident(process: int) -> float:
    """Return the memory of a process in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
