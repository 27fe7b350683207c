"""How long a record takes through a query: `python benchmarks/realtime.py [--records 500]`.

One query of four stateless models (those of `projects/stateless.py` that call no Python) over a topic of one partition, in Spark's real-time mode and by micro-batches that
follow each other at once. A record is sent every 20 ms; its time is from before it is sent until a consumer has it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from typing import Any

import build  # noqa: F401 - finds the tests' helpers
from confluent_kafka import Consumer, Producer, TopicPartition
from msgspec.structs import replace
from projects.folder import write_project
from projects.stateless import FILES
from support.runs import create_topics, job_of

from millstream.deploy.engine import Engine, start_engine
from millstream.deploy.stages.execute import stages_of_restart
from millstream.deploy.stages.prepare import prepare_query
from millstream.engine.queries.realtime import start_realtime
from millstream.engine.queries.start import start_query
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark
from millstream.local.broker import shared_broker

WARM = 100
PAUSE = 0.02
SOURCE, SINK = "storefront_events", "purchases"
EVENT: dict[str, Any] = {
    "type": "purchase", "event_type": "purchase", "user_id": "u1", "product_id": "p1", "category": "books",
    "value": 12.5, "timestamp": 1_700_000_000_000, "session_id": "s", "metadata": {},
}  # fmt: skip


def taken(bootstrap: str, records: int) -> list[float]:
    """Return the seconds that each record takes, those of the first ones left out."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "benchmark", "fetch.wait.max.ms": 5})
    consumer.assign([TopicPartition(SINK, 0, 0)])
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    sent: list[float] = []
    came: list[float] = []
    deadline = time.monotonic() + 60 + records * PAUSE * 4
    while len(came) < WARM + records and time.monotonic() < deadline:
        is_due = len(sent) < WARM + records and (not sent or time.perf_counter() - sent[-1] >= PAUSE)
        if is_due and (came or not sent):  # the first one waits until the query has started
            sent.append(time.perf_counter())
            producer.produce(SOURCE, key="k", value=json.dumps(EVENT), partition=0)
            producer.poll(0)
        message = consumer.poll(0.001)
        if message is not None and message.error() is None:
            came.append(time.perf_counter())
    producer.flush(10)
    consumer.close()
    assert len(came) == WARM + records, f"{len(came)} of {len(sent)} records came"
    return [after - before for before, after in zip(sent, came, strict=True)][WARM:]


def measured(engine: Engine, bootstrap: str, records: int, *, realtime: bool) -> list[float]:
    engine = replace(engine, kafka=replace(engine.kafka, trigger="realtime"))
    query = next(query for query in engine.job.physical.queries if not query.realtime)
    query, context = prepare_query(engine, query, stages_of_restart(engine, query))
    running = (
        start_realtime(engine.spark, query, context)
        if realtime
        else start_query(engine.spark, query, context, processingTime="0 seconds")
    )
    try:
        return taken(bootstrap, records)
    finally:
        running.stop()


def run(records: int, *, realtime: bool) -> dict[str, float]:
    """Measure with topics, broker and JVM of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        files = {path: text for path, text in FILES.items() if "calculate_score" not in text}
        root = write_project(temporary, files)
        with shared_broker(root) as starting:
            bootstrap = starting.ready().address
            create_topics(bootstrap, SOURCE, SINK, partitions=1)
            job = job_of(root)
            target = job.project.target
            spark = start_spark("benchmark", target, jars_for(target), root, amount="endless")
            try:
                with start_engine(
                    job, job.physical.queries, root / ".millstream", lambda _: None, spark
                ) as opened:
                    seconds = sorted(measured(opened, bootstrap, records, realtime=realtime))
            finally:
                spark.stop()
    quantiles = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return {
        name: round(1000 * seconds[int(share * (len(seconds) - 1))], 1) for name, share in quantiles.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=500)
    arguments = parser.parse_args()
    for realtime in (True, False):
        latencies = run(arguments.records, realtime=realtime)
        name = "real-time mode" if realtime else "micro-batches"
        print(
            f"{name}: " + ", ".join(f"{quantile} {ms} ms" for quantile, ms in latencies.items()), flush=True
        )


if __name__ == "__main__":
    main()
