"""Progress of a run: a live table and lines on a terminal, or lines of JSON."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from millstream.cli.diagnostics import as_data, count_of, render_diagnostic
from millstream.cli.live_view import LiveView
from millstream.cli.output import OutputStyle, console_during_jvm_start
from millstream.cli.state_rows import expired_in_words, expired_lines, late_in_words, late_remedy
from millstream.core.byte_sizes import size_in_words
from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import clean_text
from millstream.deploy.values import (
    ApplyStep,
    BatchCompleted,
    DataTested,
    DiagnosticEvent,
    Event,
    FunctionLogged,
    LeftOut,
    LineLogged,
    MachineUsage,
    QueryFailed,
    QueryIdle,
    QueryRemoved,
    QueryRunning,
    QueryStopped,
    QueryWaiting,
    RangeReplaced,
    SetupStep,
    TableCompared,
    TopicEnds,
)
from millstream.engine.queries.query_results import StateRows, rows_of_states, sum_of_states
from millstream.ops.query_status import RunTotals
from millstream.queries.values import Query
from millstream.results.run_results import TableChanges
from millstream.results.state_sizes import RestoredState

_BEGINNINGS = {"Spark": "starting Spark", "jars": "fetching jars", "topics": "checking topics"}
"""What the live view says of stages that say nothing themselves."""
_LATE_EVERY = 60.0
"""Seconds between two messages about late rows of one query."""


@contextmanager
def run_progress(style: OutputStyle, totals: RunTotals) -> Iterator[RunProgress]:
    shown = RunProgress(style, totals)
    live: AbstractContextManager[object] = nullcontext()
    if not style.json and not style.quiet and shown.console.is_terminal:
        live = Live(console=shown.console, get_renderable=shown.view, refresh_per_second=2, transient=True)
    with closing(shown.console.file), live:
        yield shown


@dataclass
class _LateRows:
    """Late rows of a query that are not shown yet, and when the others were."""

    rows: int = 0
    watermark: str = ""
    shown: float = -_LATE_EVERY


class RunProgress:
    """Shows the events of a run, which arrive from several threads, and passes them to the totals."""

    def __init__(self, style: OutputStyle, totals: RunTotals) -> None:
        self.console = console_during_jvm_start(style, quiet=style.quiet and not style.json)
        self._style = style
        self._totals = totals
        self._lock = threading.Lock()
        self._stage = ("starting", time.monotonic())
        """What the run does before its queries run, and since when."""
        self._failing: set[str] = set()
        self._live = LiveView()
        self._queries: dict[str, Query] = {}
        self._expired: tuple[StateRows, ...] = ()
        self._late: dict[str, _LateRows] = {}
        """When the late rows of a query were last reported, and how many came since."""

    @contextmanager
    def errors(self) -> Iterator[list[Diagnostic]]:
        """With --output json, report the errors that end a run as lines, too."""
        errors: list[Diagnostic] = []
        try:
            yield errors
        except MillstreamError as error:
            if not self._style.json:
                raise
            errors += error.diagnostics
            for diagnostic in errors:
                self._diagnostic(diagnostic)

    def show_address(self, address: str | None) -> None:
        if address is None:
            return
        with self._lock:
            self._say("serving", f"{address}/metrics, /healthz and /readyz", {"address": address})

    def show_page(self, address: str) -> None:
        with self._lock:
            self._say("page", f"the live page is at {address}", {"address": address})

    def show_end(self) -> None:
        """Say what the run leaves behind."""
        seen = self._totals.all()
        rows, again = sum(status.rows for status in seen), [status.query for status in seen if status.repeats]
        data = {"rows": rows, "batches": sum(status.batches for status in seen), "repeats": again}
        fates = {model: counted for status in seen for model, counted in status.fates.items()}
        data |= {"expired": to_builtins(self._expired), "fates": to_builtins(fates)}
        text = (
            f"stopped after {count_of(rows, 'row')}; all completed batches are saved, "
            "and the next run continues"
        )
        if again:
            text += f"; it repeats a batch of {', '.join(again)}"
        text = "; ".join((text, *expired_lines(self._expired)))
        with self._lock:
            for name, late in self._late.items():
                if late.rows:
                    self._show_late_rows(name, late)
            self._say("ended", text, data)

    def handle(self, event: Event) -> None:
        self._totals.tell(event)
        with self._lock:
            self._show(event)

    def _show(self, event: Event) -> None:
        match event:
            case SetupStep(name=name, message=words, done=done):
                self._begin("" if done else f"{name}: {words}" if words else _BEGINNINGS.get(name, name))
                if done and words:
                    self._say("stage", f"{name}: {words}", {"name": name, "said": words})
            case QueryRunning(query=query, rebuilding=rebuilding):
                self._queries[query.name] = query
                text = f"{query.name} is being rebuilt" if rebuilding else f"{query.name} is running"
                self._say("started", text, {"query": query.name, "rebuild": rebuilding})
            case BatchCompleted(query=name, batch=batch):
                self._batch(name, batch)
            case QueryFailed(query=name, diagnostic=diagnostic, failures=failures, again=again):
                self._diagnostic(diagnostic)
                text = f"{name} failed; restarts in {again:g} s"
                data = {"query": name, "failures": failures, "again": again} | _reason(diagnostic)
                self._say("failed", text, data)
            case LeftOut(query=name, model=model, diagnostic=diagnostic):
                self._diagnostic(diagnostic)
                text = f"{model.name} is left out of {name}; the others continue"
                self._say("left_out", text, {"query": name, "model": model} | _reason(diagnostic))
            case QueryStopped(query=name):
                self._say("stopped", f"{name} stopped", {"query": name})
            case DiagnosticEvent(diagnostic=diagnostic):
                self._diagnostic(diagnostic)
            case DataTested(test=test, passed=passed, message=message, severity=severity):
                self._test(test.name, message, severity, passed=passed)
            case TableCompared(model=model, columns=columns, rows=rows, less=less):
                name = model.name
                text = f"{name}: not compared: {less}" if less else f"{name}: same rows in both versions"
                data = {"model": name, "columns": columns, "rows": rows, "why_not": less}
                self._say("compared", text, data)
            case RangeReplaced(model=model):
                self._say("replaced", f"{model.name}: {event.text}", to_builtins(event))
            case QueryRemoved(query=query):
                self._say("removed", f"{query} is removed", {"query": query})
            case ApplyStep():
                self._applying(event)
            case LineLogged(level=level, text=text, data=data):
                self._say("log", f"{level.upper()} {text}", {"level": level} | data)
            case QueryIdle() | QueryWaiting() | TopicEnds() | MachineUsage() | FunctionLogged():
                pass

    def _test(self, name: str, message: str, severity: str, *, passed: bool) -> None:
        """Report a test that fails, and once when it passes again."""
        data = {"test": name, "passed": passed, "message": message, "severity": severity}
        failed_before = name in self._failing
        (self._failing.discard if passed else self._failing.add)(name)
        if not passed:
            self._say("test", f"data test {name} failed: {message}", data)
        elif failed_before:
            self._say("test", f"data test {name} passes again", data)

    def _applying(self, event: ApplyStep) -> None:
        names = ", ".join(event.queries)
        match event.step:
            case "began":
                text = "apply: began"
            case "splitting":
                text = f"apply: {names} stopped between two batches, to be split"
            case "split":
                text = f"apply: {names} continue as queries of their own"
            case "rebuilding":
                text = f"apply: {names}: the new version catches up alongside the running one"
            case "caught_up":
                text = f"apply: {names}: the new version has caught up"
            case "handover":
                text = f"apply: {names or 'nothing'} stopped between two batches for the handover"
            case "replaced":
                text = f"apply: {names or 'nothing'} replaced"
            case "failed":
                why = f": {event.message}" if event.message else ""
                text = f"apply failed; the running version continues{why}"
        self._begin("" if event.step in {"replaced", "failed"} else text)
        self._say("apply", text, {"step": event.step, "queries": event.queries, "said": event.message})

    def _batch(self, name: str, batch: Any) -> None:
        if restored := [operator.restored for operator in batch.operators if operator.restored is not None]:
            self._restored(name, restored)
        expired = rows_of_states(self._queries[name], [operator.expired for operator in batch.operators])
        self._expired = sum_of_states((*self._expired, *expired))
        changes = [change for change in batch.changes.values() if change.computed or change.stored]
        if not (batch.rows or expired or changes):
            return
        rate = batch.rows / batch.seconds if batch.seconds else 0.0
        query = self._queries[name]
        checks = bool(query.dead_letters) and not query.model_outputs
        read = f"{count_of(batch.rows, 'record')} checked" if checks else count_of(batch.rows, "row")
        text = f"{name}: {read} in {batch.seconds:.1f} s, {rate:,.0f}/s"
        for change in changes:
            text = f"{name}: {_table_changes(change)} in {batch.seconds:.1f} s"
        if lag := sum(batch.behind.values()):
            text += f", lag {lag:,}"
        if bad := sum(batch.counts.dead_letters.values()):
            text += f", {count_of(bad, 'dead letter')}"
        if skipped := sum(batch.counts.skipped.values()):
            text += f", {count_of(skipped, 'skipped record')}"
        if failures := sum(batch.counts.tests.values()):
            text += f", {count_of(failures, 'row')} failed data tests"
        if expired:
            text = ", ".join((text, *map(expired_in_words, expired)))
        if self._style.json or not self.console.is_terminal:
            shown = {k: v for k, v in to_builtins(batch).items() if k != "logs"}
            shown |= {"expired": to_builtins(expired)}
            self._say("batch", text, {"query": name} | shown)
        if batch.late:
            self._late_rows(name, batch)

    def _restored(self, name: str, restored: Sequence[RestoredState]) -> None:
        files, seconds = sum(store.bytes for store in restored), sum(store.seconds for store in restored)
        text = f"{name}: state of {size_in_words(files)} loaded in {seconds:.1f} s, all stores together"
        self._say("restored", text, {"query": name, "bytes": files, "seconds": round(seconds, 3)})

    def _late_rows(self, name: str, batch: Any) -> None:
        """Say which rows are dropped because they are late, and what to change; not with each batch."""
        now = time.monotonic()
        late = self._late.setdefault(name, _LateRows())
        late.rows += batch.late
        late.watermark = batch.watermark
        if now - late.shown >= _LATE_EVERY:
            late.shown = now
            self._show_late_rows(name, late)

    def _show_late_rows(self, name: str, late: _LateRows) -> None:
        query = self._queries[name]
        sources = [source.relation.name for source in query.sources]
        models = [id_.name for id_ in query.stored]
        dropped = f"{late_in_words(late.rows, query)}, {late.watermark}"
        remedy = late_remedy(query)
        data = {"query": name, "models": models, "rows": late.rows}
        data |= {"watermark": late.watermark, "sources": sources}
        late.rows = 0
        self._say("late", f"{', '.join(models)}: {dropped}; {remedy}", data)

    def _diagnostic(self, diagnostic: Diagnostic) -> None:
        if self._style.json:
            self._say("problem", diagnostic.message, as_data(diagnostic, self._style.target))
        else:
            self.console.print(render_diagnostic(diagnostic, self.console.width, self._style.target))

    def _say(self, event: str, text: str, data: dict[str, Any]) -> None:
        now = datetime.now(timezone.utc)
        if self._style.json:
            line = {"time": now.isoformat(timespec="milliseconds"), "event": event, **data}
            click.echo(json.dumps(line))
        else:
            self.console.print(Text.assemble((f"{now:%H:%M:%S} ", "dim"), clean_text(text)))

    def view(self) -> Group:
        seen, (stage, began) = self._totals.all(), self._stage
        if not seen:
            return Group(Text(f"{stage or 'starting queries'}, {time.monotonic() - began:.0f} s", "dim"))
        return self._live.shown(seen, stage, self._totals.machine())

    def _begin(self, stage: str) -> None:
        self._stage = stage, time.monotonic()


def _table_changes(changes: TableChanges) -> str:
    touched = count_of(changes.touched, "key") if changes.touched else "all keys"
    stored = ", ".join(f"{rows:,} {kind}" for kind, rows in changes.by_kind.items() if rows)
    return f"{touched} touched, {count_of(changes.computed, 'row')} computed, {stored or 'nothing stored'}"


def _reason(diagnostic: Diagnostic) -> dict[str, Any]:
    return {"code": diagnostic.code, "message": diagnostic.message, "help": diagnostic.help}
