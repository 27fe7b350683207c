"""The metrics of a run: one declaration for its exposition, the docs, dashboards and alerts."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

DeclaredType = Literal["counter", "gauge", "histogram", "timer", "meter"]
"""Of a metric that a project declares."""
LATENCIES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 60, 300, 1800, 3600)
"""Upper bounds of the buckets of times, in seconds."""


class RunMetric(Struct, frozen=True):
    name: str
    type: Literal["counter", "gauge", "histogram"]
    description: str
    labels: tuple[str, ...] = ("query",)
    prefix: str = "millstream"

    @property
    def family(self) -> str:
        """The name without the suffixes that Prometheus adds by type."""
        return f"{self.prefix}_{self.name}"

    @property
    def series(self) -> str:
        """The name in queries; that of a histogram's buckets."""
        suffix = {"counter": "_total", "gauge": "", "histogram": "_bucket"}[self.type]
        return self.family + suffix


def _counter(name: str, description: str, *labels: str) -> RunMetric:
    return RunMetric(name, "counter", description, ("query", *labels))


def _gauge(name: str, description: str, *labels: str) -> RunMetric:
    return RunMetric(name, "gauge", description, ("query", *labels))


RUN_METRICS = (
    _counter("rows", "Rows read."),
    _counter("batches", "Completed micro-batches."),
    _counter("model_rows", "Rows computed for a model with a query or a topic of its own.", "model"),
    _counter("touched_keys", "Keys of a table over tables that changes of its inputs touched.", "model"),
    _counter(
        "computed_rows", "Rows that a table over tables computed: those with touched keys, or all.", "model"
    ),
    _counter(
        "changed_rows",
        "Rows of a table over tables that were changed: inserted, updated or deleted.",
        "model",
        "change",
    ),
    _counter(
        "late_rows",
        "Rows that stateful operators dropped because they were older than the watermark; "
        "those of one group in a batch can count as one.",
    ),
    _counter("expired_rows", "Rows of the state of a stateful step that expired.", "step"),
    _counter("failures", "Failures that stopped a query."),
    _counter("restarts", "Starts of a query after its first one."),
    _counter("phase_seconds", "Time by phase of the batches, with Spark's names.", "phase"),
    _counter("skipped", "Skipped records, by source or model.", "of"),
    _counter("dead_letters", "Records sent to dead letters, by source or model.", "of"),
    _counter(
        "dead_letter_reasons",
        "Records sent to dead letters by reason, with … for numbers and quoted texts; at most 50 reasons.",
        "reason",
    ),
    _counter("test_failures", "Rows that failed a data test.", "test"),
    _gauge("model", "The query that computes a model.", "model"),
    _gauge("left_out", "Models that failed and are left out of their query.", "model"),
    _gauge("up", "Whether a query is running."),
    _gauge("batch_seconds", "Duration of the last micro-batch."),
    _gauge("rows_per_second", "Rows of the last micro-batch divided by its duration."),
    _gauge(
        "latency_seconds",
        "Time from the arrival of the oldest record of the last micro-batch in Kafka to the batch's end.",
    ),
    _gauge("lag", "Available records that are not read yet.", "topic"),
    _gauge(
        "seconds_since_batch", "Time since a query last read records, found none to read, or was started."
    ),
    _gauge("state_rows", "Rows in the state of a stateful step.", "step"),
    _gauge("state_bytes", "Memory of the state of a stateful step, as its store reports it.", "step"),
    _gauge("state_file_bytes", "Size of the files of a step's RocksDB.", "step"),
    _gauge(
        "state_restore_seconds",
        "Time in which all stores of a stateful step together loaded its state at the last start; "
        "Spark does not report it for aggregates.",
        "step",
    ),
    _gauge("state_pinned_bytes", "Memory of RocksDB's cache that it can't release, of a step.", "step"),
    RunMetric("batch_duration_seconds", "histogram", "Duration of micro-batches."),
    RunMetric(
        "event_latency_seconds",
        "histogram",
        "Time from each record's timestamp in Kafka to the end of its batch, within a fifth.",
    ),
    RunMetric("test_passed", "gauge", "Whether a data test that runs on an interval passed.", ("test",)),
    RunMetric(
        "metric_dropped",
        "counter",
        "Rows whose labels count as _other, because a metric has too many, or that would lower a counter.",
        ("metric",),
    ),
    RunMetric("jvm_heap_bytes", "gauge", "Heap of Spark's driver.", ("kind",)),
    RunMetric("jvm_gc_seconds", "counter", "Time of garbage collections of Spark's driver.", ("collector",)),
    RunMetric("jvm_gc", "counter", "Garbage collections of Spark's driver.", ("collector",)),
    RunMetric("process_rss_bytes", "gauge", "Resident memory of processes on this machine.", ("process",)),
    RunMetric("run", "gauge", "The project, target and version that run.", ("project", "target", "version")),
)
BY_NAME = {metric.name: metric for metric in RUN_METRICS}


def prefix_of(project: str) -> str:
    """Return the start of the names of a project's own metrics."""
    name = re.sub(r"\W", "_", project, flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() else name


def own_metrics(
    project: str, model: str, name: str, type_: DeclaredType, labels: tuple[str, ...], description: str = ""
) -> tuple[RunMetric, ...]:
    """Return what Prometheus sees of a metric that a project declares; a meter is two metrics."""
    about = description or f"Of the rows of {model}."
    prefix, all_labels = prefix_of(project), ("model", *labels)
    match type_:
        case "counter":
            return (RunMetric(name, "counter", about, all_labels, prefix),)
        case "gauge":
            return (RunMetric(name, "gauge", about, all_labels, prefix),)
        case "histogram":
            return (RunMetric(name, "histogram", about, all_labels, prefix),)
        case "timer":
            return (RunMetric(f"{name}_seconds", "histogram", about, all_labels, prefix),)
        case "meter":
            return (
                RunMetric(name, "counter", about, all_labels, prefix),
                RunMetric(f"{name}_per_second", "gauge", f"{about} In the last minute.", all_labels, prefix),
            )
