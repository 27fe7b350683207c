"""The metrics of a run in Prometheus' formats; `run_metrics.py` declares their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate

from msgspec import Struct
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from millstream import __version__
from millstream.engine.queries.batch_result import BatchResult
from millstream.ops.query_status import QueryStatus, RunTotals, TimeHistogram, steps_of
from millstream.results.run_metrics import BY_NAME, LATENCIES, RunMetric

Values = Callable[[QueryStatus], Mapping[str, float] | Mapping[tuple[str, str], float]]
"""The values of a query by the metric's own label, or labels; without one, a single value."""


class RunIdentity(Struct, frozen=True):
    """What runs, for the labels of the metric `run` and the names of a project's own metrics."""

    project: str = "millstream"
    target: str = ""


def _single(value: Callable[[QueryStatus], float]) -> Values:
    return lambda seen: {"": value(seen)}


def _last(value: Callable[[QueryStatus, BatchResult], float | None]) -> Values:
    """Return the value of the last batch, if there is one."""
    return lambda seen: {"": figure} if seen.last and (figure := value(seen, seen.last)) is not None else {}


def _rate(_: QueryStatus, batch: BatchResult) -> float:
    return batch.rows / batch.seconds if batch.seconds else 0.0


def _steps(value: Callable[[Mapping[str, int]], int | None]) -> Values:
    """Return a figure of each stateful step of the last batch."""

    def values(seen: QueryStatus) -> dict[str, float]:
        if seen.last is None:
            return {}
        by_step = {
            step: value({**operator.figures, "rows": operator.rows, "bytes": operator.bytes})
            for step, operator in zip(steps_of(seen.last), seen.last.operators, strict=True)
        }
        return {step: float(number) for step, number in by_step.items() if number is not None}

    return values


_OF_QUERIES: dict[str, Values] = {
    "rows": _single(lambda seen: seen.rows),
    "batches": _single(lambda seen: seen.batches),
    "model_rows": lambda seen: seen.model_rows,
    "touched_keys": lambda seen: {model: changes.touched for model, changes in seen.changes.items()},
    "computed_rows": lambda seen: {model: changes.computed for model, changes in seen.changes.items()},
    "changed_rows": lambda seen: {
        (model, kind): rows
        for model, changes in seen.changes.items()
        for kind, rows in changes.by_kind.items()
    },
    "late_rows": _single(lambda seen: seen.late),
    "expired_rows": lambda seen: seen.expired,
    "failures": _single(lambda seen: seen.failures),
    "restarts": _single(lambda seen: max(0, seen.starts - 1)),
    "phase_seconds": lambda seen: seen.phases,
    "skipped": lambda seen: {str(id_): rows for id_, rows in seen.skipped.items()},
    "dead_letters": lambda seen: {str(id_): rows for id_, rows in seen.dead_letters.items()},
    "dead_letter_reasons": lambda seen: seen.reasons,
    "test_failures": lambda seen: {test.name: rows for test, rows in seen.tests.items()},
    "model": lambda seen: dict.fromkeys(seen.models, 1),
    "left_out": lambda seen: {model: model in seen.left_out for model in seen.models},
    "up": _single(lambda seen: seen.status == "running"),
    "batch_seconds": _last(lambda _, batch: batch.seconds),
    "rows_per_second": _last(_rate),
    "latency_seconds": _last(lambda _, batch: batch.latency),
    "lag": lambda seen: seen.lag,
    "seconds_since_batch": _single(lambda seen: seen.since_batch),
    "state_rows": _steps(lambda figures: figures["rows"]),
    "state_bytes": _steps(lambda figures: figures["bytes"]),
    "state_file_bytes": _steps(lambda figures: figures.get("rocksdbSstFileSize")),
    "state_restore_seconds": lambda seen: seen.restored,
    "state_pinned_bytes": _steps(lambda figures: figures.get("rocksdbPinnedBlocksMemoryUsage")),
}
_HISTOGRAMS: dict[str, Callable[[QueryStatus], TimeHistogram]] = {
    "batch_duration_seconds": lambda seen: seen.durations,
    "event_latency_seconds": lambda seen: seen.latencies,
}


class _Run(Collector):
    def __init__(self, totals: RunTotals, identity: RunIdentity) -> None:
        self._totals = totals
        self._identity = identity

    def collect(self) -> Iterable[Metric]:
        statuses = self._totals.all()
        for name, values in _OF_QUERIES.items():
            family = _family(BY_NAME[name])
            label_count = len(BY_NAME[name].labels)
            for seen in statuses:
                for label, value in values(seen).items():
                    labels = (label,) if isinstance(label, str) else label
                    family.add_metric([seen.query, *labels][:label_count], float(value))
            yield family
        for name, histogram in _HISTOGRAMS.items():
            yield _histogram(BY_NAME[name], {seen.query: histogram(seen) for seen in statuses})
        yield from self._others()
        yield from self._totals.families(self._identity.project)

    def _others(self) -> Iterator[Metric]:
        machine = self._totals.machine()
        one = self._identity
        values: dict[str, Mapping[tuple[str, ...], float]] = {
            "test_passed": {(tested.test.name,): tested.passed for tested in self._totals.tests()},
            "metric_dropped": {(name,): number for name, number in self._totals.dropped().items()},
            "jvm_heap_bytes": {(kind,): size for kind, size in machine.heap.items()},
            "jvm_gc_seconds": {(name,): seconds for name, (_, seconds) in machine.collections.items()},
            "jvm_gc": {(name,): number for name, (number, _) in machine.collections.items()},
            "process_rss_bytes": {(process,): size for process, size in machine.resident.items()},
            "run": {(one.project, one.target, __version__): 1.0},
        }
        for name, by_labels in values.items():
            family = _family(BY_NAME[name])
            for labels, value in by_labels.items():
                family.add_metric(labels, float(value))
            yield family

    def describe(self) -> Iterable[Metric]:
        return []


def _family(metric: RunMetric) -> CounterMetricFamily | GaugeMetricFamily:
    kind = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
    return kind(metric.family, metric.description, labels=metric.labels)


def _histogram(metric: RunMetric, by_query: Mapping[str, TimeHistogram]) -> Metric:
    family = HistogramMetricFamily(metric.family, metric.description, labels=metric.labels)
    bounds = [*map(str, map(float, LATENCIES)), "+Inf"]
    for query, histogram in by_query.items():
        family.add_metric(
            [query], list(zip(bounds, map(float, accumulate(histogram.counts)), strict=True)), histogram.sum
        )
    return family


def expose_metrics(totals: RunTotals, identity: RunIdentity, accept: str = "") -> tuple[bytes, str]:
    """Return the metrics in a format that a client accepts, OpenMetrics or Prometheus, and its type."""
    registry = CollectorRegistry()
    registry.register(_Run(totals, identity))
    encode, kind = choose_encoder(accept)
    return encode(registry), kind
