"""The metrics of a run in Prometheus' format."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millstream.ops.seen import QueryStatus, Watcher
from millstream.runner.queries.batches import Batch

Values = Callable[[QueryStatus], Mapping[str, float]]
Family = type[CounterMetricFamily] | type[GaugeMetricFamily]


class _Metric(NamedTuple):
    name: str
    description: str
    values: Values
    """The values of a query by the metric's own label; without one, a single value."""
    label: str = ""


def _total(value: Callable[[QueryStatus], float]) -> Values:
    return lambda seen: {"": value(seen)}


def _last(value: Callable[[QueryStatus, Batch], float | None]) -> Values:
    """Return the value of the last batch, if there is one."""
    return lambda seen: {"": found} if seen.last and (found := value(seen, seen.last)) is not None else {}


def _rate(_: QueryStatus, batch: Batch) -> float:
    return batch.rows / batch.seconds if batch.seconds else 0.0


_COUNTERS = (
    _Metric("rows", "Rows read.", _total(lambda seen: seen.rows)),
    _Metric("batches", "Completed micro-batches.", _total(lambda seen: seen.batches)),
    _Metric("late_rows", "Rows that arrived after their window had closed.", _total(lambda seen: seen.late)),
    _Metric("failures", "Failures that stopped a query.", _total(lambda seen: seen.failures)),
    _Metric(
        "phase_seconds",
        "Time by phase of the batches, with Spark's names.",
        lambda seen: seen.phases,
        "phase",
    ),
    _Metric("skipped", "Skipped records, by source or model.", lambda seen: seen.skipped, "of"),
    _Metric(
        "dead_letters",
        "Records sent to dead letters, by source or model.",
        lambda seen: seen.dead_letters,
        "of",
    ),
    _Metric(
        "test_failures",
        "Rows that failed a data test.",
        lambda seen: {test.removeprefix("test."): rows for test, rows in seen.tests.items()},
        "test",
    ),
)

_GAUGES = (
    _Metric("model", "The query that computes a model.", lambda seen: dict.fromkeys(seen.models, 1), "model"),
    _Metric(
        "left_out",
        "Models that failed and are left out of their query.",
        lambda seen: {model: model in seen.left_out for model in seen.models},
        "model",
    ),
    _Metric("up", "Whether a query is running.", _total(lambda seen: seen.status == "running")),
    _Metric("batch_seconds", "Duration of the last micro-batch.", _last(lambda _, batch: batch.seconds)),
    _Metric("rows_per_second", "Rows of the last micro-batch divided by its duration.", _last(_rate)),
    _Metric(
        "latency_seconds",
        "Time from the arrival of the oldest record of the last micro-batch in Kafka to the batch's end.",
        _last(lambda _, batch: batch.latency),
    ),
    _Metric("lag", "Available records that are not read yet.", lambda seen: seen.lag, "topic"),
    _Metric(
        "seconds_since_batch",
        "Time since a query last read records, or found none to read.",
        _last(lambda seen, _: time.time() - seen.at),
    ),
    _Metric("state_rows", "Rows in a query's state.", _last(lambda _, batch: batch.state_rows)),
    _Metric("state_bytes", "Memory of a query's state.", _last(lambda _, batch: batch.state_bytes)),
)


class _Run(Collector):
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def collect(self) -> Iterable[Metric]:
        statuses = self._watcher.all()
        kinds: list[tuple[Family, _Metric]] = [(CounterMetricFamily, each) for each in _COUNTERS]
        kinds += [(GaugeMetricFamily, each) for each in _GAUGES]
        for kind, metric in kinds:
            labels = ["query", metric.label] if metric.label else ["query"]
            family = kind(f"millstream_{metric.name}", metric.description, labels=labels)
            for seen in statuses:
                for label, value in metric.values(seen).items():
                    family.add_metric([seen.query, label][: len(labels)], float(value))
            yield family

    def describe(self) -> Iterable[Metric]:
        return []


def exposition(watcher: Watcher) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Run(watcher))
    return generate_latest(registry)
