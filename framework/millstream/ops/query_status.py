"""The status of each query of a run, for logs, metrics, probes and the live view."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from copy import copy
from typing import Literal

from msgspec import Struct, field
from prometheus_client.core import Metric

from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.deploy.values import (
    BatchCompleted,
    DataTested,
    Event,
    LeftOut,
    MachineUsage,
    QueryFailed,
    QueryIdle,
    QueryRemoved,
    QueryRunning,
    QueryStopped,
    QueryWaiting,
    TopicEnds,
)
from millstream.engine.queries.batch_result import BatchResult
from millstream.ops.meters import MeterValues
from millstream.queries.values import meters_of
from millstream.results.run_metrics import LATENCIES
from millstream.results.run_results import RecordOutcomes, TableChanges
from millstream.sources.positions import Position, title_of

Status = Literal["waiting", "running", "rebuilding", "failed", "stopped"]


class TimeHistogram(Struct):
    """Counts of times up to each bound of `LATENCIES`, then all, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(LATENCIES) + 1))
    sum: float = 0.0

    def add(self, seconds: float, count: int = 1) -> None:
        self.counts[bisect_left(LATENCIES, seconds)] += count
        self.sum += seconds * count

    def copied(self) -> TimeHistogram:
        return TimeHistogram(list(self.counts), self.sum)


class QueryStatus(Struct):
    """The status of one query; numbers are totals since the run began."""

    query: str
    models: tuple[str, ...]
    status: Status = "waiting"
    rows: int = 0
    batches: int = 0
    late: int = 0
    failures: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    skipped: Counter[NodeId] = field(default_factory=Counter)
    dead_letters: Counter[NodeId] = field(default_factory=Counter)
    tests: Counter[NodeId] = field(default_factory=Counter)
    starts: int = 0
    expired: Counter[str] = field(default_factory=Counter)
    """By stateful step."""
    restored: dict[str, float] = field(default_factory=dict)
    """Seconds in which the state of each stateful step was loaded last."""
    model_rows: Counter[str] = field(default_factory=Counter)
    fates: dict[str, RecordOutcomes] = field(default_factory=dict)
    """What became of the records that each model read, where they can be counted one by one."""
    changes: dict[str, TableChanges] = field(default_factory=dict)
    """What tables over tables did, by model."""
    reasons: Counter[str] = field(default_factory=Counter)
    durations: TimeHistogram = field(default_factory=TimeHistogram)
    latencies: TimeHistogram = field(default_factory=TimeHistogram)
    last: BatchResult | None = None
    began: float = 0.0
    """When the run began to keep it running, in seconds since 1970."""
    started: float = 0.0
    """When it was last started, in seconds since 1970."""
    last_active: float = 0.0
    """When its last batch ended, or it last found nothing to read, in seconds since 1970."""
    caught_up: bool = False
    repeats: bool = False
    """It was stopped within a batch, which the next start runs again."""
    left_out: dict[str, Diagnostic] = field(default_factory=dict)
    """Models that failed while their query went on, and why."""
    ends: Mapping[str, Position] = field(default_factory=dict)
    """Where the topics ended at the last check."""

    @property
    def since_batch(self) -> float:
        """Seconds since it last ended a batch or found nothing to read; before that, since it was started."""
        return max(0.0, time.time() - (self.last_active or self.started or self.began))

    @property
    def stale(self) -> float:
        """Seconds since it last ended a batch or found nothing to read, if there is something to read."""
        idle = bool(self.last) and not any(self.lag.values())
        return 0.0 if idle else self.since_batch

    @property
    def bad(self) -> int:
        """Records that were skipped or are dead letters, and rows that failed data tests."""
        return sum(map(sum, (self.skipped.values(), self.dead_letters.values(), self.tests.values())))

    @property
    def lag(self) -> dict[str, int]:
        """What each topic and other source has that is not read yet, also during a long batch."""
        if self.last is None:
            return {}
        read = self.last.read
        now = {
            stream: position.behind(self.ends[stream])
            for stream, position in read.items()
            if stream in self.ends
        }
        return {title_of(stream): amount for stream, amount in (self.last.behind | now).items()}


class RunTotals:
    """Collects the events of a run; other threads can read the totals."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statuses: dict[str, QueryStatus] = {}
        self._ends: Mapping[str, Position] = {}
        self._meters: dict[str, MeterValues] = {}
        self._machine = MachineUsage()
        self._tests: dict[NodeId, DataTested] = {}

    def tell(self, event: Event) -> None:
        with self._lock:
            match event:
                case QueryWaiting(query=query):
                    models = tuple(name.shown_name for name in query.stored)
                    # The totals of a query go on if another version of it takes over.
                    new = QueryStatus(query.name, models, began=time.time())
                    seen = self._statuses.setdefault(query.name, new)
                    seen.models, seen.status, seen.left_out = models, "waiting", {}
                    for model, meter in meters_of(query):
                        values = self._meters.get(meter.name)
                        if values is None or values.meter != meter:
                            self._meters[meter.name] = MeterValues(meter, model)
                case QueryRemoved(query=name):
                    self._statuses.pop(name, None)
                case QueryRunning(query=query, rebuilding=rebuilding):
                    seen = self._statuses[query.name]
                    seen.status, seen.starts = "rebuilding" if rebuilding else "running", seen.starts + 1
                    seen.started = time.time()
                case LeftOut(query=name, model=model, diagnostic=diagnostic):
                    self._statuses[name].left_out[model.shown_name] = diagnostic
                case BatchCompleted(query=name, batch=batch):
                    _add(self._statuses[name], batch)
                    for metric, sums in batch.metrics.items():
                        if metric in self._meters:
                            self._meters[metric].add(sums)
                case TopicEnds(streams=ends):
                    self._ends = ends
                case MachineUsage():
                    self._machine = event
                case DataTested(test=test):
                    self._tests[test] = event
                case QueryIdle(query=name):
                    seen = self._statuses[name]
                    seen.last_active, seen.caught_up = time.time(), True
                case QueryFailed(query=name):
                    seen = self._statuses[name]
                    seen.status, seen.failures = "failed", seen.failures + 1
                case QueryStopped(query=name, repeats=repeats):
                    self._statuses[name].status, self._statuses[name].repeats = "stopped", repeats

    def all(self) -> list[QueryStatus]:
        """Return copies of the current statuses."""
        with self._lock:
            return [_copy(status, self._ends) for status in self._statuses.values()]

    def families(self, project: str) -> list[Metric]:
        """Return the metrics that the project declares."""
        with self._lock:
            return [family for meter in self._meters.values() for family in meter.families(project)]

    def dropped(self) -> dict[str, int]:
        """Return how many rows of each metric are not counted under their own labels."""
        with self._lock:
            return {name: meter.dropped for name, meter in self._meters.items()}

    def machine(self) -> MachineUsage:
        return self._machine

    def tests(self) -> list[DataTested]:
        """Return the last result of each test that ran on an interval."""
        with self._lock:
            return list(self._tests.values())


def steps_of(batch: BatchResult) -> list[str]:
    """Return names of the stateful steps of a batch."""
    return [f"{number} {operator.name}" for number, operator in enumerate(batch.operators)]


def _add(seen: QueryStatus, batch: BatchResult) -> None:
    seen.rows += batch.rows
    seen.batches += 1
    seen.late += batch.late
    seen.expired.update(
        {step: operator.expired for step, operator in zip(steps_of(batch), batch.operators, strict=True)}
    )
    seen.restored.update(
        {
            step: operator.restored.seconds
            for step, operator in zip(steps_of(batch), batch.operators, strict=True)
            if operator.restored is not None
        }
    )
    seen.model_rows.update(batch.model_rows)
    for model, fates in batch.fates.items():
        seen.fates[model] = seen.fates[model] + fates if model in seen.fates else fates
    for model, changes in batch.changes.items():
        seen.changes[model] = seen.changes.get(model, TableChanges()) + changes
    seen.reasons.update(batch.reasons)
    if batch.rows:
        seen.durations.add(batch.seconds)
    for step, records in enumerate(batch.ages):
        if records:
            seen.latencies.add(2 ** ((step + 0.5) / 2) / 1000 + batch.seconds, records)
    seen.phases.update(batch.phases)
    seen.skipped.update(batch.counts.skipped)
    seen.dead_letters.update(batch.counts.dead_letters)
    seen.tests.update(batch.counts.tests)
    seen.last, seen.last_active = batch, time.time()
    seen.caught_up = seen.caught_up or not any(batch.behind.values())


def _copy(seen: QueryStatus, ends: Mapping[str, Position]) -> QueryStatus:
    copied = copy(seen)
    copied.ends = ends
    copied.phases, copied.skipped = Counter(seen.phases), Counter(seen.skipped)
    copied.dead_letters, copied.tests = Counter(seen.dead_letters), Counter(seen.tests)
    copied.expired, copied.restored = Counter(seen.expired), dict(seen.restored)
    copied.model_rows, copied.reasons = Counter(seen.model_rows), Counter(seen.reasons)
    copied.durations, copied.latencies = seen.durations.copied(), seen.latencies.copied()
    copied.left_out, copied.changes = dict(seen.left_out), dict(seen.changes)
    copied.fates = dict(seen.fates)
    return copied
