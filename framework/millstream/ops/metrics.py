"""The metrics of a run in Prometheus' format."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millstream.ops.seen import QueryStatus, Watcher


class _Run(Collector):
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def collect(self) -> Iterable[Metric]:
        statuses = self._watcher.all()
        yield from _queries(statuses)
        yield from _batches([each for each in statuses if each.last is not None])

    def describe(self) -> Iterable[Metric]:
        return []


def exposition(watcher: Watcher) -> bytes:
    """Return all metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Run(watcher))
    return generate_latest(registry)


def _queries(statuses: list[QueryStatus]) -> Iterator[Metric]:
    info = GaugeMetricFamily(
        "millstream_model", "The query that computes a model.", labels=["model", "query"]
    )
    left_out = GaugeMetricFamily(
        "millstream_left_out",
        "Models that failed and are left out of their query.",
        labels=["model", "query"],
    )
    up = GaugeMetricFamily("millstream_up", "Whether a query is running.", labels=["query"])
    rows = CounterMetricFamily("millstream_rows", "Rows read.", labels=["query"])
    batches = CounterMetricFamily("millstream_batches", "Completed micro-batches.", labels=["query"])
    late = CounterMetricFamily(
        "millstream_late_rows", "Rows that arrived after their window had closed.", labels=["query"]
    )
    failures = CounterMetricFamily("millstream_failures", "Failures that stopped a query.", labels=["query"])
    phases = CounterMetricFamily(
        "millstream_phase_seconds",
        "Time by phase of the batches, with Spark's names.",
        labels=["query", "phase"],
    )
    skipped = CounterMetricFamily(
        "millstream_skipped",
        "Skipped records, by source or model.",
        labels=["query", "of"],
    )
    dead_letters = CounterMetricFamily(
        "millstream_dead_letters",
        "Records sent to dead letters, by source or model.",
        labels=["query", "of"],
    )
    tests = CounterMetricFamily(
        "millstream_test_failures", "Rows that failed a data test.", labels=["query", "test"]
    )
    for each in statuses:
        for model in each.models:
            info.add_metric([model, each.query], 1)
            left_out.add_metric([model, each.query], float(model in each.left_out))
        up.add_metric([each.query], float(each.status == "running"))
        for family, value in ((rows, each.rows), (batches, each.batches), (late, each.late)):
            family.add_metric([each.query], value)
        failures.add_metric([each.query], each.failures)
        counters = (
            (phases, each.phases),
            (skipped, each.skipped),
            (dead_letters, each.dead_letters),
            (tests, each.tests),
        )
        for family, by in counters:
            for label, value in by.items():
                family.add_metric([each.query, label.removeprefix("test.")], value)
    yield from (info, left_out, up, rows, batches, late, failures, phases, skipped, dead_letters, tests)


def _batches(statuses: list[QueryStatus]) -> Iterator[Metric]:
    took = GaugeMetricFamily(
        "millstream_batch_seconds", "Duration of the last micro-batch.", labels=["query"]
    )
    rate = GaugeMetricFamily(
        "millstream_rows_per_second",
        "Rows of the last micro-batch divided by its duration.",
        labels=["query"],
    )
    latency = GaugeMetricFamily(
        "millstream_latency_seconds",
        "Time from the arrival of the oldest record of the last micro-batch in Kafka to the batch's end.",
        labels=["query"],
    )
    lag = GaugeMetricFamily(
        "millstream_lag", "Available records that are not read yet.", labels=["query", "topic"]
    )
    age = GaugeMetricFamily(
        "millstream_seconds_since_batch",
        "Time since a query last read records, or found none to read.",
        labels=["query"],
    )
    rows = GaugeMetricFamily("millstream_state_rows", "Rows in a query's state.", labels=["query"])
    memory = GaugeMetricFamily("millstream_state_bytes", "Memory of a query's state.", labels=["query"])
    for each in statuses:
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
