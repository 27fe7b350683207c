"""The alerts of a run: an entry for each."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from millstream.docs.exporters.promql import quote_promql
from millstream.results.run_metrics import BY_NAME

STALE = 15 * 60.0
"""Seconds without a batch, if the target has no max_staleness."""
_PERIOD = "15m"
"""How long an alert about single events lasts."""
_MINUTE = 60


class Alert(Struct, frozen=True):
    name: str
    severity: Literal["critical", "warning"]
    expression: str
    after: str
    """How long the expression must hold first."""
    summary: str
    description: str
    """What happened, and what to do: the exact command, in backticks."""


class AlertSubject(Struct, frozen=True):
    """What the alerts are about."""

    project: str
    target: str
    max_lag: int | None = None
    max_staleness: float | None = None
    freshness_tests: tuple[str, ...] = ()

    @property
    def run(self) -> str:
        """The metric by which Prometheus knows the run."""
        chosen = f"project={quote_promql(self.project)},target={quote_promql(self.target)}"
        return f"{BY_NAME['run'].series}{{{chosen}}}"

    @property
    def of_run(self) -> str:
        """Restricts an expression to the run, since other projects may be scraped, too."""
        return f"and on (job, instance) {self.run}"

    def command(self, text: str) -> str:
        """Return a command for this target, as a template of Prometheus."""
        return f"`millstream {text} --target {as_text(shlex.quote(self.target))}`"

    @property
    def title(self) -> str:
        return as_text(f"{self.project} ({self.target})")


def as_text(text: str) -> str:
    """Return a text for a template of Prometheus, which would evaluate `{{`."""
    return text.replace("{{", '{{ "{{" }}')


def alerts_of(watched: AlertSubject) -> Iterator[Alert]:
    for entry in ALERTS:
        yield from entry(watched)


_READY = "`curl http://{{ $labels.instance }}/readyz`"
_OF = '{{ $labels.of | reReplaceAll "^(source|model)[.]" "" }}'
"""A source or a model, as `dead-letters` names it."""
_MORE_CORES = "If it does not fall, the query needs more cores, or its topics more partitions."
_MORE_MEMORY = "Give the driver more memory (`spark: {spark.driver.memory: 8g}`), or keep states in RocksDB."
_QUERY = "query {{ $labels.query }} of"


def _series(name: str) -> str:
    return BY_NAME[name].series


def _by_query(text: str) -> str:
    return f"sum by (job, instance, query) ({text})"


def _added(name: str, period: str = _PERIOD) -> str:
    """Return what a counter gained; a series that is new counts in full, which `increase` leaves out."""
    series = _series(name)
    return f"(increase({series}[{period}]) > 0 or ({series} > 0 unless {series} offset {period}))"


def _not_scraped(watched: AlertSubject) -> Iterator[Alert]:
    yield Alert(
        "MillstreamNotRunning",
        "critical",
        f"absent({watched.run})",
        "5m",
        f"{watched.title} does not run",
        "Prometheus finds no metrics of it: the run has ended, or can't be scraped. If it has ended, start "
        f"it: {watched.command('run')}. If it runs, check that Prometheus reaches its port (--host, --port).",
    )


def _down(watched: AlertSubject) -> Iterator[Alert]:
    yield Alert(
        "MillstreamQueryDown",
        "critical",
        f"{_series('up')} == 0 {watched.of_run}",
        "15m",
        f"{_QUERY} {watched.title} has not run for 15 minutes",
        f"It fails, is being rebuilt, or waits for the tables that it looks up. {_READY} says which, and "
        "the log of the run has the error.",
    )


def _failing(watched: AlertSubject) -> Iterator[Alert]:
    yield Alert(
        "MillstreamQueryFailing",
        "critical",
        f"round(increase({_series('failures')}[{_PERIOD}])) >= 3 {watched.of_run}",
        "0s",
        f"{_QUERY} {watched.title} failed {{{{ $value }}}} times in 15 minutes",
        "It is restarted with increasing delay, and reads nothing until then. The log of the run has the "
        "error, with its code and a remedy. Fix the cause; if it is in the project, deploy the fix: "
        f"{watched.command('apply')}.",
    )


def _left_out(watched: AlertSubject) -> Iterator[Alert]:
    yield Alert(
        "MillstreamModelLeftOut",
        "critical",
        f"{_series('left_out')} == 1 {watched.of_run}",
        "1m",
        f"model {{{{ $labels.model }}}} of {watched.title} is left out of its query",
        "It fails, and the other models of its query continue without it. The log of the run has the "
        f"error. Fix the model, and deploy it: {watched.command('apply')}. It then processes what it missed.",
    )


def _lag(watched: AlertSubject) -> Iterator[Alert]:
    most = watched.max_lag
    if most is not None:
        yield Alert(
            "MillstreamLag",
            "warning",
            f"{_by_query(_series('lag'))} > {most} {watched.of_run}",
            "5m",
            f"{_QUERY} {watched.title} is more than {most:,} records behind",
            "Its lag has been above max_lag of the target for 5 minutes. See which partitions: "
            f"{watched.command('lag --partitions')}. {_MORE_CORES}",
        )


def _falling_behind(watched: AlertSubject) -> Iterator[Alert]:
    lag = _series("lag")
    rate = f"rate({_series('rows')}[10m])"
    yield Alert(
        "MillstreamFallingBehind",
        "warning",
        f"{_by_query(lag)} > {10 * _MINUTE} * {_by_query(rate)} "
        f"and {_by_query(lag)} > {_by_query(f'{lag} offset 30m')} {watched.of_run}",
        "15m",
        f"{_QUERY} {watched.title} is falling behind",
        "It needs more than 10 minutes to read what it has not read yet, and 30 minutes ago, that was "
        f"less. See which partitions: {watched.command('lag --partitions')}. {_MORE_CORES}",
    )


def _stale(watched: AlertSubject) -> Iterator[Alert]:
    limit = watched.max_staleness
    most = f"{limit or STALE:g}"
    yield Alert(
        "MillstreamStale",
        "critical" if limit else "warning",
        # Before its first batch, it is unknown what a query has to read.
        f"{_series('seconds_since_batch')} > {most} "
        f"unless on (job, instance, query) {_by_query(_series('lag'))} == 0 {watched.of_run}",
        "1m",
        f"{_QUERY} {watched.title} has ended no batch for {{{{ $value | humanizeDuration }}}}",
        f"It has records to read, but completes no batch: the limit is {most} s. {_READY} gives the reasons. "
        "If it does not fail, but hangs, stop the run with SIGTERM, and start it again: "
        f"{watched.command('run')}.",
    )


def _dead_letters(watched: AlertSubject) -> Iterator[Alert]:
    yield Alert(
        "MillstreamDeadLetters",
        "warning",
        f"{_added('dead_letters')} {watched.of_run}",
        "0s",
        f"new dead letters of {{{{ $labels.of }}}} in {watched.title}",
        f"See why: {watched.command(f'dead-letters ls {_OF}')}. Fix the cause, deploy the fix, and send "
        f"the records back: {watched.command(f'dead-letters replay {_OF}')} says which, `--yes` does it.",
    )


def _skipped(watched: AlertSubject) -> Iterator[Alert]:
    yield Alert(
        "MillstreamSkippedRecords",
        "warning",
        f"{_added('skipped')} {watched.of_run}",
        "0s",
        f"records of {{{{ $labels.of }}}} are skipped in {watched.title}",
        "They can't be decoded, or a function fails on them, and they are lost. To keep such records and see "
        "why, set `on_bad_record: dead_letter` of the source or model, and deploy it: "
        f"{watched.command('apply')}.",
    )


def _test_rows(watched: AlertSubject) -> Iterator[Alert]:
    yield Alert(
        "MillstreamTestViolated",
        "warning",
        f"{_added('test_failures')} {watched.of_run}",
        "0s",
        f"rows fail the test {{{{ $labels.test }}}} of {watched.title}",
        f"Test what is stored: {watched.command('test --select {{ $labels.test }}')}. Rows that a test with "
        f"severity dead_letter rejected are listed by {watched.command('dead-letters ls')}.",
    )


def _tests(watched: AlertSubject) -> Iterator[Alert]:
    fresh = "|".join(map(_regular, watched.freshness_tests))
    series = _series("test_passed")
    if fresh:
        yield Alert(
            "MillstreamNotFresh",
            "critical",
            f"{series}{{test=~{quote_promql(fresh)}}} == 0 {watched.of_run}",
            "0s",
            f"no new rows: the test {{{{ $labels.test }}}} of {watched.title} fails",
            f"See whether the queries are behind: {watched.command('lag')}. If they are not, "
            "the topic gets no new records: check its producer.",
        )
    others = f"{{test!~{quote_promql(fresh)}}}" if fresh else ""
    yield Alert(
        "MillstreamTestFailed",
        "warning",
        f"{series}{others} == 0 {watched.of_run}",
        "0s",
        f"the test {{{{ $labels.test }}}} of {watched.title} fails",
        f"Run it to see the rows: {watched.command('test --select {{ $labels.test }}')}.",
    )


def _regular(text: str) -> str:
    """Return a regular expression of RE2 that matches just this text."""
    return "".join(
        character if character.isalnum() or character == "_" else f"\\x{{{ord(character):x}}}"
        for character in text
    )


def _late(watched: AlertSubject) -> Iterator[Alert]:
    late, rows = (f"increase({_series(name)}[1h])" for name in ("late_rows", "rows"))
    yield Alert(
        "MillstreamLateRows",
        "warning",
        f"{late} > 0.01 * {rows} {watched.of_run}",
        "15m",
        f"more than 1 % of the rows of {_QUERY} {watched.title} are late",
        "They arrive after their window has closed, and are dropped. Set a longer `delay` of the watermark "
        f"in the source, and see what that rebuilds: {watched.command('plan')}.",
    )


def _heap(watched: AlertSubject) -> Iterator[Alert]:
    heap = _series("jvm_heap_bytes")
    used, most = f'min_over_time({heap}{{kind="used"}}[15m])', f'{heap}{{kind="max"}}'
    yield Alert(
        "MillstreamHeapFull",
        "critical",
        f"{used} / ignoring (kind) {most} > 0.85 {watched.of_run}",
        "5m",
        f"the heap of {watched.title} is {{{{ $value | humanizePercentage }}}} full after collections",
        "The run will soon stop with an error. See which states are large: "
        f"{watched.command('state')}. {_MORE_MEMORY}",
    )


def _collections(watched: AlertSubject) -> Iterator[Alert]:
    rate = f"rate({_series('jvm_gc_seconds')}[10m])"
    yield Alert(
        "MillstreamGarbageCollection",
        "warning",
        f"sum by (job, instance) ({rate}) > 0.2 {watched.of_run}",
        "10m",
        f"{watched.title} spends {{{{ $value | humanizePercentage }}}} of its time on garbage collections",
        "Its heap is too small, and batches are slow. See which states are large: "
        f"{watched.command('state')}. {_MORE_MEMORY}",
    )


ALERTS = (
    _not_scraped,
    _down,
    _failing,
    _left_out,
    _lag,
    _falling_behind,
    _stale,
    _dead_letters,
    _skipped,
    _test_rows,
    _tests,
    _late,
    _heap,
    _collections,
)
