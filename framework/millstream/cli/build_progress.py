"""Progress of a build for people: a spinner for each running query, a line for each finished one."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from millstream.cli.build_summary import describe_failures
from millstream.cli.diagnostics import count_of, render_diagnostic
from millstream.cli.output import OutputStyle, console_during_jvm_start
from millstream.cli.state_rows import expired_lines, late_lines
from millstream.core.errors import Diagnostic
from millstream.core.text import clean_text
from millstream.deploy.values import (
    DiagnosticEvent,
    Event,
    LeftOut,
    QueryProgress,
    QueryStarted,
    RangeReplaced,
    RunEnded,
    SetupStep,
    TableCompared,
)
from millstream.engine.queries.query_results import QueryResult, RecordCounts
from millstream.queries.values import Query

if TYPE_CHECKING:
    from millstream.testing.build_tests import EndedTests

_MARKS = {"success": ("✓", "green"), "error": ("✗", "red"), "skipped": ("○", "yellow")}
_STYLES = {"": "", "bold": "bold", "red": "red", "green": "green", "dim": "dim", "cyan": "cyan"} | {
    "bad": "bold red reverse",
    "good": "bold green reverse",
}
"""The styles of rich for those of lines of tests."""
_NAMES, _LEAST = 62, 20
"""Characters of a name: at most, and on a narrow terminal."""


_SECONDS = 30.0
"""How often running queries are reported without a terminal."""


@contextmanager
def build_progress(style: OutputStyle, seconds: float = _SECONDS) -> Iterator[BuildProgress]:
    shown = BuildProgress(style)
    with (
        closing(shown.console.file),
        shown.progress if shown.console.is_terminal else _reporting(shown, seconds),
    ):
        yield shown


@contextmanager
def _reporting(shown: BuildProgress, seconds: float) -> Iterator[None]:
    ended = threading.Event()
    reporter = threading.Thread(target=shown.report_running, args=(ended, seconds), daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()


class BuildProgress:
    """Shows the events of a build, which arrive from several threads."""

    def __init__(self, style: OutputStyle) -> None:
        self.console = console_during_jvm_start(style, quiet=style.json or style.quiet)
        self._target = style.target
        columns = (
            SpinnerColumn(), TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[rows]}"), TimeElapsedColumn(),
        )  # fmt: skip
        self.progress = Progress(*columns, console=self.console, transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._queries: dict[str, Query] = {}
        self._start_times: dict[str, float] = {}
        self._lock = threading.Lock()
        self._held: dict[str, list[Callable[[], None]]] = {}
        """What to print below the line of each query: its data tests."""
        self.diagnostics: list[Diagnostic] = []
        self.compared: list[TableCompared] = []
        self.replaced: list[RangeReplaced] = []

    def handle(self, event: Event) -> None:
        with self._lock:
            match event:
                case SetupStep():
                    self._stage(event)
                case QueryStarted(query=query):
                    self._queries[query.name] = query
                    self._start(query.name, _query_label(query))
                case QueryProgress(query=name, rows=rows):
                    if rows:
                        seconds = max(time.monotonic() - self._start_times[name], 0.001)
                        self.progress.update(
                            self._tasks[name], rows=f"{rows:,} rows, {rows / seconds:,.0f}/s"
                        )
                case RunEnded(result=result):
                    self._end(result)
                case LeftOut(model=model, diagnostic=diagnostic):
                    self._line("error", model.name, "left out of its query; the others continue")
                    self._diagnostic(diagnostic)
                case TableCompared():
                    self.compared.append(event)
                    self._compared(event)
                case RangeReplaced():
                    self.replaced.append(event)
                    self._replaced(event)
                case DiagnosticEvent(diagnostic=diagnostic):
                    self._diagnostic(diagnostic)

    def report_running(self, ended: threading.Event, seconds: float) -> None:
        """Print a line for everything that runs, again and again; for logs, which have no spinners."""
        while not ended.wait(seconds):
            with self._lock:
                for key, task in self._tasks.items():
                    shown = self.progress.tasks[self.progress.task_ids.index(task)]
                    rows = f"{shown.fields['rows']}, " if shown.fields["rows"] else ""
                    running = f"{time.monotonic() - self._start_times[key]:.0f} s so far"
                    text = f"{shown.description}: {rows}{running}"
                    self.console.print(Text.assemble(("·", "bold blue"), " ", text))

    def show_unchanged(self, what: str, number: int) -> None:
        """Show how many tests need not run, because they are unchanged since they passed."""
        if number:
            with self._lock:
                self._line(
                    "success", count_of(number, what), "passed before, and nothing they read has changed"
                )

    @contextmanager
    def testing(self, what: str, number: int) -> Iterator[Callable[[EndedTests], None]]:
        """Show tests while they run: yield what shows those of a relation as they end."""
        stage, done = f"{what}s", 0
        with self._lock:
            self._running_stage(stage, count_of(number, what))

        def show(tested: EndedTests) -> None:
            nonlocal done
            done += len(tested.outcomes)
            with self._lock:
                self._tested(tested, what)
                self._running_stage(stage, f"{done} of {count_of(number, what)}")

        try:
            yield show
        finally:
            with self._lock:
                self._stage(SetupStep(stage, done=True))

    def show_computed(self, model: str, rows: str, seconds: float, diagnostics: Sequence[Diagnostic]) -> None:
        """Show a model that was computed without being stored, or why it could not be."""
        with self._lock:
            status, text = ("error", "failed") if diagnostics else ("success", rows)
            self._line(status, model, f"{text:<22} {seconds:>6.1f} s")
            for diagnostic in diagnostics:
                self._diagnostic(diagnostic)

    def test_query(self, query: str) -> None:
        """Show that the data tests of a query run, whose line is printed after them."""
        with self._lock:
            label = _query_label(self._queries[query])
            self.progress.update(self._tasks[query], description=clean_text(f"{label}: data tests"))

    def hold(self, query: str, tested: EndedTests) -> None:
        """Print data tests below the line of their query, when it ends."""
        with self._lock:
            self._held.setdefault(query, []).append(lambda: self._tested(tested, "data test", "  "))

    def hold_unchanged(self, query: str, what: str, number: int) -> None:
        if number:
            with self._lock:
                line = partial(self._line, "success", f"  {count_of(number, what)}", "passed before")
                self._held.setdefault(query, []).append(line)

    def _tested(self, tested: EndedTests, what: str, indent: str = "") -> None:
        statuses = Counter[str](test.status for test in tested.outcomes)
        wrong = describe_failures(statuses)
        number = count_of(len(tested.outcomes), what)
        mark = "error" if statuses["fail"] or statuses["error"] else "skipped" if wrong else "success"
        text = f"{number}: {', '.join(wrong)}" if wrong else number
        self._line(mark, f"{indent}{tested.title}", f"{text:<22} {tested.seconds:>6.1f} s")
        for test in tested.outcomes:
            for diagnostic in test.diagnostics:
                self.console.print(render_diagnostic(diagnostic, self.console.width, self._target))
            for line in test.lines:
                pieces = (Text(clean_text(piece.text), _STYLES[piece.style]) for piece in line)
                self.console.print(Text.assemble(*pieces))

    def _start(self, key: str, description: str) -> None:
        self._start_times[key] = time.monotonic()
        self._tasks[key] = self.progress.add_task(clean_text(description), total=None, rows="")

    def _stage(self, stage: SetupStep) -> None:
        if not stage.done:
            self._running_stage(stage.name, f"{stage.name}: {stage.message or 'starting'}")
            return
        if (task := self._tasks.pop(stage.name, None)) is not None:
            self.progress.remove_task(task)
        if stage.message:
            now = time.monotonic()
            seconds = now - self._start_times.get(stage.name, now)
            self._line("success", f"{stage.name}: {stage.message}", f"{seconds:.1f} s")

    def _running_stage(self, name: str, description: str) -> None:
        """Show the current step of a stage; without a terminal, only its first step."""
        if name in self._tasks:
            self.progress.update(self._tasks[name], description=clean_text(description))
            return
        self._start(name, description)
        if not self.console.is_terminal:
            self.console.print(Text.assemble(("·", "bold blue"), " ", clean_text(description)))

    def _end(self, result: QueryResult) -> None:
        if (task := self._tasks.pop(result.query, None)) is not None:
            self.progress.remove_task(task)
        query = self._queries.get(result.query)
        name = result.query if query is None else _query_label(query)
        if result.status == "success":
            number, what = _number(result, query)
            self._line("success", name, f"{number:>9,} {what:<12} {result.seconds:>6.1f} s")
            for line in dropped_records(result.counts):
                self.console.print(Text(f"  {clean_text(line)}", "yellow"))
            for line in late_lines(result.late, query):
                self.console.print(Text(f"  {clean_text(line)}", "yellow"))
            for line in expired_lines(result.expired):
                self.console.print(Text(f"  {clean_text(line)}", "dim"))
        else:
            self._line(result.status, name, result.message)
        if result.diagnostic is not None:
            self._diagnostic(result.diagnostic)
        for show in self._held.pop(result.query, ()):
            show()

    def _compared(self, result: TableCompared) -> None:
        name = result.model.name
        if result.less:
            self._line("skipped", name, f"not compared with the running version: {result.less}")
            return
        columns = ", ".join(result.columns) or "its keys"
        self._line(
            "success", name, f"same {columns} as the running version in {count_of(result.rows, 'row')}"
        )

    def _replaced(self, part: RangeReplaced) -> None:
        self._line("success", part.model.name, part.text)

    def _diagnostic(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)
        self.console.print(render_diagnostic(diagnostic, self.console.width, self._target))

    def _line(self, status: str, name: str, text: str) -> None:
        mark, color = _MARKS[status]
        width = self._width_of_name(text)
        shown = name if len(name) <= width else f"{name[: width - 1]}…"
        indent = name[: len(name) - len(name.lstrip())]
        rest = f"{clean_text(shown.lstrip()):<{width - len(indent)}}"
        self.console.print(Text.assemble(indent, (mark, f"bold {color}"), " ", rest, " ", clean_text(text)))

    def _width_of_name(self, text: str) -> int:
        """Return the width of a name at which its line fits on the terminal."""
        if not self.console.is_terminal:
            return _NAMES
        return max(_LEAST, min(_NAMES, self.console.width - len(text) - len("✓  ")))


def dropped_records(counts: RecordCounts) -> Iterator[str]:
    """Yield a line for each source, model or data test whose records were skipped or rejected."""
    for fate, numbers in (("skipped", counts.skipped), ("sent to dead letters", counts.dead_letters)):
        for id_, number in numbers.items():
            kind, name = id_.kind, id_.name
            why = "a function failed" if fate == "skipped" else "a function or a data test failed"
            why = why if kind == "model" else "not decodable"
            yield f"{count_of(number, 'record')} of {name} {fate}: {why}"
    for id_, number in counts.tests.items():
        yield f"{count_of(number, 'row')} failed data test {id_.name}"


def _number(result: QueryResult, query: Query | None) -> tuple[int, str]:
    """Return the number that a query's line shows, and what it counts."""
    if result.changes is not None:
        number, one, more = result.changes.stored, "row changed", "rows changed"
    elif query is not None and not query.stored:
        number, one, more = sum(result.counts.dead_letters.values()), "dead letter", "dead letters"
    else:
        number, one, more = result.rows, "row read", "rows read"
    return number, one if number == 1 else more


def _query_label(query: Query) -> str:
    """Name a query after the models that it computes."""
    labels = [
        name.shown_name if name.kind == "model" else f"{name.last_name} (reference)" for name in query.stored
    ]
    return ", ".join(labels) or query.name.replace("_", " ")
