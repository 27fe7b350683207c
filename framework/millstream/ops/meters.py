"""The values of metrics that a project declares, from what each batch adds to them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from millstream.engine.queries.counts import OTHERS
from millstream.plan.nodes import Meter
from millstream.results.run_metrics import own_metrics

_MANY = "\x01"
_MINUTE = 60.0


class _Series(Struct):
    """The sums of one combination of labels."""

    rows: float = 0.0
    sum: float = 0.0
    buckets: list[float] = field(default_factory=list)
    last: float = 0.0
    """A gauge's value in the last batch that had such rows."""
    recent: deque[tuple[float, float]] = field(default_factory=deque)
    """A meter's sums of the last minute, with their times."""


class MeterValues:
    """The values of one metric since the run began."""

    def __init__(self, meter: Meter, model: str) -> None:
        self.meter = meter
        self._model = model
        self._series: dict[str, _Series] = {}
        self.dropped = 0
        """Rows whose labels are not kept apart, or that would lower a counter."""

    def add(self, batch: Mapping[str, Sequence[float]]) -> None:
        """Add the sums of a batch by label: rows, sum, least, greatest, rows up to each boundary."""
        for labels, (rows, total, least, greatest, *buckets) in batch.items():
            if self.meter.type in {"counter", "meter"} and total < 0:
                self.dropped += int(rows)
                continue
            series = self._of(labels, int(rows))
            series.rows += rows
            series.sum += total
            series.buckets = [one + other for one, other in zip(series.buckets, buckets, strict=True)]
            match self.meter.fold:
                case "sum":
                    series.last = total
                case "avg":
                    series.last = total / rows
                case "min":
                    series.last = least
                case "max":
                    series.last = greatest
            if self.meter.type == "meter":
                series.recent.append((time.monotonic(), total))

    def _of(self, labels: str, rows: int) -> _Series:
        if labels == _MANY or (labels not in self._series and len(self._series) >= self.meter.most):
            self.dropped += rows
            labels = _MANY
        return self._series.setdefault(labels, _Series(buckets=[0.0] * len(self.meter.buckets)))

    def families(self, project: str) -> Iterator[Metric]:
        """Return the metric as Prometheus sees it; a meter has two."""
        one = self.meter
        metrics = own_metrics(project, self._model, one.name, one.type, one.labels, one.description)
        series = [(self._labels(key), sums) for key, sums in self._series.items()]
        for metric in metrics:
            name, about, labels = metric.family, metric.description, metric.labels
            match metric.type:
                case "gauge":
                    gauge = GaugeMetricFamily(name, about, labels=labels)
                    for values, sums in series:
                        gauge.add_metric(values, sums.last if one.type == "gauge" else _rate(sums.recent))
                    yield gauge
                case "counter":
                    counter = CounterMetricFamily(name, about, labels=labels)
                    for values, sums in series:
                        counter.add_metric(values, sums.sum)
                    yield counter
                case "histogram":
                    histogram = HistogramMetricFamily(name, about, labels=labels)
                    for values, sums in series:
                        bounds = [*map(_bound, one.buckets), "+Inf"]
                        counts = [*sums.buckets, sums.rows]
                        histogram.add_metric(values, list(zip(bounds, counts, strict=True)), sums.sum)
                    yield histogram

    def _labels(self, key: str) -> list[str]:
        values = [OTHERS] * len(self.meter.labels) if key == _MANY else key.split("\0") if key else []
        missing = [""] * (len(self.meter.labels) - len(values))
        return [self._model, *values, *missing]


def _bound(bound: float) -> str:
    return repr(float(bound))


def _rate(recent: deque[tuple[float, float]]) -> float:
    """Return a sum per second over the last minute."""
    oldest = time.monotonic() - _MINUTE
    while recent and recent[0][0] < oldest:
        recent.popleft()
    return sum(total for _, total in recent) / _MINUTE
