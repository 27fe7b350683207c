"""What is seen of a run, as Prometheus reads it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millstream.ops.seen import Seen, Watcher


class _Run(Collector):
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def collect(self) -> Iterable[Metric]:
        seen = self._watcher.all()
        yield from _queries(seen)
        yield from _batches([each for each in seen if each.last is not None])

    def describe(self) -> Iterable[Metric]:
        return []


def exposition(watcher: Watcher) -> bytes:
    """Return all metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Run(watcher))
    return generate_latest(registry)


def _queries(seen: list[Seen]) -> Iterator[Metric]:
    info = GaugeMetricFamily("millstream_model", "Which query makes a model.", labels=["model", "query"])
    out = GaugeMetricFamily(
        "millstream_left_out",
        "Models that failed, without which their query goes on.",
        labels=["model", "query"],
    )
    up = GaugeMetricFamily("millstream_up", "Whether a query runs.", labels=["query"])
    rows = CounterMetricFamily("millstream_rows", "Rows that were read.", labels=["query"])
    batches = CounterMetricFamily("millstream_batches", "Micro-batches that ended well.", labels=["query"])
    late = CounterMetricFamily(
        "millstream_late_rows", "Rows that came after their window was closed.", labels=["query"]
    )
    failures = CounterMetricFamily("millstream_failures", "Failures that ended a query.", labels=["query"])
    phases = CounterMetricFamily(
        "millstream_phase_seconds",
        "Time by part of the batches, as Spark calls it.",
        labels=["query", "phase"],
    )
    skipped = CounterMetricFamily(
        "millstream_skipped",
        "Records left out, by the source or model that skips them.",
        labels=["query", "of"],
    )
    letters = CounterMetricFamily(
        "millstream_dead_letters", "Records sent to dead letters, by source or model.", labels=["query", "of"]
    )
    tests = CounterMetricFamily(
        "millstream_test_failures", "Rows that a data test found wrong.", labels=["query", "test"]
    )
    for each in seen:
        for model in each.models:
            info.add_metric([model, each.query], 1)
            out.add_metric([model, each.query], float(model in each.left_out))
        up.add_metric([each.query], float(each.status == "running"))
        for family, value in ((rows, each.rows), (batches, each.batches), (late, each.late)):
            family.add_metric([each.query], value)
        failures.add_metric([each.query], each.failures)
        counted = (
            (phases, each.phases), (skipped, each.skipped), (letters, each.dead_letters), (tests, each.tests)
        )  # fmt: skip
        for family, by in counted:
            for label, value in by.items():
                family.add_metric([each.query, label.removeprefix("test.")], value)
    yield from (info, out, up, rows, batches, late, failures, phases, skipped, letters, tests)


def _batches(seen: list[Seen]) -> Iterator[Metric]:
    took = GaugeMetricFamily("millstream_batch_seconds", "Time of the last micro-batch.", labels=["query"])
    rate = GaugeMetricFamily(
        "millstream_rows_per_second", "Rows of the last micro-batch by its time.", labels=["query"]
    )
    latency = GaugeMetricFamily(
        "millstream_latency_seconds",
        "From when the oldest record of the last micro-batch came into Kafka to the batch's end.",
        labels=["query"],
    )
    lag = GaugeMetricFamily(
        "millstream_lag", "Records that are there and not read yet.", labels=["query", "topic"]
    )
    age = GaugeMetricFamily(
        "millstream_seconds_since_batch",
        "Time since a query last read, or saw nothing to read.",
        labels=["query"],
    )
    rows = GaugeMetricFamily("millstream_state_rows", "Rows in a query's state.", labels=["query"])
    memory = GaugeMetricFamily("millstream_state_bytes", "Memory of a query's state.", labels=["query"])
    for each in seen:
        batch = each.last
        if batch is None:
            continue
        took.add_metric([each.query], batch.seconds)
        rate.add_metric([each.query], batch.rows / batch.seconds if batch.seconds else 0.0)
        if batch.latency is not None:
            latency.add_metric([each.query], batch.latency)
        for topic, behind in each.lag.items():
            lag.add_metric([each.query, topic], behind)
        age.add_metric([each.query], time.time() - each.at)
        rows.add_metric([each.query], batch.state_rows)
        memory.add_metric([each.query], batch.state_bytes)
    yield from (took, rate, latency, lag, age, rows, memory)
