"""The panels of the dashboard: a line for each; every metric of a run is in one of them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from millstream.results.run_metrics import BY_NAME, RunMetric

Kind = Literal["timeseries", "stat", "table"]
_OFFERED = ("query", "model")
"""Labels that are variables of the dashboard."""


class PanelQuery(Struct, frozen=True):
    metric: RunMetric
    text: str
    """PromQL; `%s` is the metric with its labels."""
    legend: str = ""

    @property
    def promql(self) -> str:
        chosen = ["instance", *(label for label in _OFFERED if label in self.metric.labels)]
        matchers = ",".join(f'{label}=~"${label}"' for label in chosen)
        return self.text.replace("%s", f"{self.metric.series}{{{matchers}}}")


class Panel(Struct, frozen=True):
    title: str
    unit: str
    """An id of Grafana's units."""
    expressions: tuple[PanelQuery, ...]
    kind: Kind = "timeseries"
    empty: str = ""
    """Until when it may have no data, as the end of a sentence."""


def _metric(name: str, by: tuple[str, ...]) -> RunMetric:
    metric = BY_NAME[name]
    assert {*by} <= {*metric.labels}, f"{metric.family} has no such label: {by}"
    return metric


def _legend(by: tuple[str, ...], title: str = "") -> str:
    return " ".join((*(f"{{{{{label}}}}}" for label in by), title)).strip()


def _current(name: str, *by: str, title: str = "") -> PanelQuery:
    """Return the current values by labels."""
    metric = _metric(name, by)
    return PanelQuery(metric, f"sum by ({', '.join(by)}) (%s)", _legend(by, title))


def _worst(name: str, *by: str, title: str = "") -> PanelQuery:
    metric = _metric(name, by)
    return PanelQuery(metric, f"max by ({', '.join(by)}) (%s)", _legend(by, title))


def _rate(name: str, *by: str, title: str = "") -> PanelQuery:
    """Return a counter's increase per second by labels."""
    return rate_of(_metric(name, by), by, title)


def _new(name: str, *by: str, title: str = "") -> PanelQuery:
    """Return a counter's increase in each step of the panel."""
    metric = _metric(name, by)
    return PanelQuery(
        metric, f"sum by ({', '.join(by)}) (increase(%s[$__rate_interval]))", _legend(by, title)
    )


def _total(text: str, name: str) -> PanelQuery:
    return PanelQuery(BY_NAME[name], text)


def rate_of(metric: RunMetric, by: tuple[str, ...], title: str = "") -> PanelQuery:
    text = f"sum by ({', '.join(by)}) (rate(%s[$__rate_interval]))"
    return PanelQuery(metric, text, _legend(by, title))


def quantile_queries(
    metric: RunMetric, *by: str, shown: tuple[float, ...] = (0.5, 0.95, 0.99)
) -> tuple[PanelQuery, ...]:
    """Return percentiles of a histogram by labels."""
    return tuple(
        PanelQuery(
            metric,
            f"histogram_quantile({quantile}, sum by ({', '.join((*by, 'le'))}) (rate(%s[$__rate_interval])))",
            _legend(by, f"p{quantile * 100:.0f}"),
        )
        for quantile in shown
    )


def own_panel(metric: RunMetric) -> Panel:
    """Return the panel of a metric that the project declares."""
    by, title = metric.labels, metric.family
    empty = "until its model stores a row that counts"
    match metric.type:
        case "counter":
            return Panel(f"{title} per second", "short", (rate_of(metric, by),), empty=empty)
        case "gauge":
            shown = PanelQuery(metric, f"max by ({', '.join(by)}) (%s)", _legend(by))
            return Panel(title, "short", (shown,), empty=empty)
        case "histogram":
            unit = "s" if metric.name.endswith("_seconds") else "short"
            return Panel(title, unit, quantile_queries(metric, *by), empty=empty)


_HOUR = "sum(increase(%s[1h])) or vector(0)"

ROWS: dict[str, tuple[Panel, ...]] = {
    "Overview": (
        Panel("Queries that run", "short", (_total("sum(%s)", "up"),), "stat"),
        Panel("Queries that do not run", "short", (_total("count(%s == 0) or vector(0)", "up"),), "stat"),
        Panel("Models left out", "short", (_total("sum(%s)", "left_out"),), "stat"),
        Panel("Lag", "short", (_total("sum(%s)", "lag"),), "stat"),
        Panel("Rows read", "rowsps", (_total("sum(rate(%s[$__rate_interval]))", "rows"),), "stat"),
        Panel("Failures in the last hour", "short", (_total(_HOUR, "failures"),), "stat"),
        Panel("Dead letters in the last hour", "short", (_total(_HOUR, "dead_letters"),), "stat"),
        Panel("Tests that fail", "short", (_total("count(%s == 0) or vector(0)", "test_passed"),), "stat"),
        Panel("Runs", "short", (_current("run", "project", "target", "version"),), "table"),
    ),
    "Queries": (
        Panel("Rows read", "rowsps", (_rate("rows", "query"),)),
        Panel("Lag", "short", (_current("lag", "query", "topic"),)),
        Panel("Time without a batch", "s", (_worst("seconds_since_batch", "query"),)),
        Panel("Latency of records", "s", quantile_queries(BY_NAME["event_latency_seconds"], "query")),
        Panel("Latency of the oldest record", "s", (_worst("latency_seconds", "query"),)),
        Panel("Duration of batches", "s", quantile_queries(BY_NAME["batch_duration_seconds"], "query")),
        Panel("Duration of the last batch", "s", (_worst("batch_seconds", "query"),)),
        Panel("Rows of the last batch per second", "rowsps", (_current("rows_per_second", "query"),)),
        Panel("Batches", "ops", (_rate("batches", "query"),)),
        Panel("Time by phase of batches", "percentunit", (_rate("phase_seconds", "phase"),)),
        Panel("Queries that run", "short", (_current("up", "query"),)),
        Panel(
            "Failures and restarts",
            "short",
            (_new("failures", "query", title="failures"), _new("restarts", "query", title="restarts")),
        ),
        Panel("Late rows", "rowsps", (_rate("late_rows", "query"),)),
        Panel("Skipped records", "short", (_new("skipped", "query", "of"),), empty="until one is skipped"),
        Panel("Dead letters", "short", (_new("dead_letters", "query", "of"),), empty="until there is one"),
        Panel(
            "Dead letters by reason",
            "short",
            (_new("dead_letter_reasons", "reason"),),
            empty="until there is one",
        ),
        Panel("Rows that fail tests", "short", (_new("test_failures", "test"),), empty="until a row fails"),
    ),
    "Models": (
        Panel("Rows", "rowsps", (_rate("model_rows", "model"),)),
        Panel(
            "Keys touched in tables over tables",
            "ops",
            (_rate("touched_keys", "model"),),
            empty="without tables over tables",
        ),
        Panel(
            "Rows computed for tables over tables",
            "rowsps",
            (_rate("computed_rows", "model"),),
            empty="without tables over tables",
        ),
        Panel(
            "Rows changed in tables over tables",
            "rowsps",
            (_rate("changed_rows", "model", "change"),),
            empty="without tables over tables",
        ),
        Panel("Models left out", "short", (_current("left_out", "model"),)),
        Panel("Queries of models", "short", (_current("model", "model", "query"),), "table"),
        Panel(
            "Tests that run on an interval: 1 passed, 0 failed",
            "short",
            (_current("test_passed", "test"),),
            empty="until such a test has run",
        ),
    ),
    "State": (
        Panel("Rows", "short", (_current("state_rows", "query", "step"),), empty="without stateful queries"),
        Panel(
            "Memory", "bytes", (_current("state_bytes", "query", "step"),), empty="without stateful queries"
        ),
        Panel("Files", "bytes", (_current("state_file_bytes", "query", "step"),), empty="without RocksDB"),
        Panel(
            "Memory that the cache can't release",
            "bytes",
            (_current("state_pinned_bytes", "query", "step"),),
            empty="without RocksDB",
        ),
        Panel(
            "Time to load the state at the last start",
            "s",
            (_current("state_restore_seconds", "query", "step"),),
            empty="until a query with state is restarted",
        ),
        Panel(
            "Rows that expired",
            "rowsps",
            (_rate("expired_rows", "query", "step"),),
            empty="without stateful queries",
        ),
    ),
    "JVM and processes": (
        Panel("Heap", "bytes", (_current("jvm_heap_bytes", "kind"),)),
        Panel("Time of garbage collections", "percentunit", (_rate("jvm_gc_seconds", "collector"),)),
        Panel("Garbage collections", "ops", (_rate("jvm_gc", "collector"),)),
        Panel("Resident memory", "bytes", (_current("process_rss_bytes", "process"),)),
    ),
}
OWN_ROW = "Metrics of the project"
DROPPED = Panel(
    "Rows that count as _other", "rowsps", (_rate("metric_dropped", "metric"),), empty="without such metrics"
)
"""In the row of the project's own metrics."""
