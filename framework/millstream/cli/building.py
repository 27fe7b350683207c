"""A build as a person sees it: what runs now, and a line for all that has ended."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from millstream.cli.diagnostics import count, render
from millstream.cli.output import Look
from millstream.errors import Diagnostic
from millstream.physical.values import DeadLetters, Query
from millstream.runner.results import Counts, Outcome, RunResults
from millstream.runner.values import Compared, Ended, Event, Going, LeftOut, Setup, Started, Told
from millstream.text import clean

_MARKS = {"success": ("✓", "green"), "error": ("✗", "red"), "skipped": ("○", "yellow")}
_NAMES = 62


@contextmanager
def telling(look: Look) -> Iterator[Telling]:
    """Show what runs for as long as the block lasts."""
    made = Telling(look)
    if not made.console.is_terminal:
        yield made
        return
    with made.progress:
        yield made


class Telling:
    """Shows a build while it runs; told from several threads."""

    def __init__(self, look: Look) -> None:
        # While the JVM starts, a file stands in for our standard error, which it inherits: keep the real one.
        self._file = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")
        self.console = Console(
            file=self._file,
            color_system="auto" if look.color else None,
            markup=False, emoji=False, highlight=False, soft_wrap=True, quiet=look.json or look.quiet,
        )  # fmt: skip
        self._look = look
        columns = (
            SpinnerColumn(), TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[rows]}"), TimeElapsedColumn(),
        )  # fmt: skip
        self.progress = Progress(*columns, console=self.console, transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._names: dict[str, str] = {}
        self._began: dict[str, float] = {}
        self._lock = threading.Lock()
        self.problems: list[Diagnostic] = []
        self.compared: list[Compared] = []

    def tell(self, event: Event) -> None:
        with self._lock:
            match event:
                case Setup():
                    self._stage(event)
                case Started(query=query):
                    self._names[query.name] = _made(query)
                    self._start(query.name, _made(query))
                case Going(query=name, rows=rows):
                    if rows:
                        took = max(time.monotonic() - self._began[name], 0.001)
                        self.progress.update(self._tasks[name], rows=f"{rows:,} rows, {rows / took:,.0f}/s")
                case Ended(outcome=outcome):
                    self._end(outcome)
                case LeftOut(model=model, problem=problem):
                    self._line("error", model.partition(".")[2], "left out of its query; the others go on")
                    self._problem(problem)
                case Compared():
                    self.compared.append(event)
                    self._compared(event)
                case Told(diagnostic=diagnostic):
                    self._problem(diagnostic)

    def _start(self, key: str, description: str) -> None:
        self._began[key] = time.monotonic()
        self._tasks[key] = self.progress.add_task(clean(description), total=None, rows="")

    def _stage(self, stage: Setup) -> None:
        if not stage.done:
            self._begun(stage.name, f"{stage.name}: {stage.said or 'starting'}")
            return
        if (task := self._tasks.pop(stage.name, None)) is not None:
            self.progress.remove_task(task)
        if stage.said:
            now = time.monotonic()
            took = now - self._began.get(stage.name, now)
            self._line("success", f"{stage.name}: {stage.said}", f"{took:.1f} s")

    def _begun(self, name: str, shown: str) -> None:
        """Say what a stage is at; where nothing can be written over, only that it has begun."""
        if name in self._tasks:
            self.progress.update(self._tasks[name], description=clean(shown))
            return
        self._start(name, shown)
        if not self.console.is_terminal:
            self.console.print(Text.assemble(("·", "bold blue"), " ", clean(shown)))

    def _end(self, outcome: Outcome) -> None:
        if (task := self._tasks.pop(outcome.query, None)) is not None:
            self.progress.remove_task(task)
        name = self._names.get(outcome.query, outcome.query)
        if outcome.status == "success":
            self._line("success", name, f"{outcome.rows:>9,} rows  {outcome.seconds:>6.1f} s")
            for said in left_out(outcome.counts):
                self.console.print(Text(f"  {clean(said)}", "yellow"))
        else:
            self._line(outcome.status, name, outcome.message)
        if outcome.problem is not None:
            self._problem(outcome.problem)

    def _compared(self, found: Compared) -> None:
        name = found.model.partition(".")[2]
        if found.less:
            self._line("skipped", name, f"not compared with what runs: {found.less}")
            return
        columns = ", ".join(found.columns) or "its keys"
        self._line("success", name, f"{columns} equal in {count(found.rows, 'row')}, compared with what runs")

    def _problem(self, problem: Diagnostic) -> None:
        self.problems.append(problem)
        self.console.print(render(problem, self.console.width))

    def _line(self, status: str, name: str, said: str) -> None:
        mark, color = _MARKS[status]
        shown = name if len(name) <= _NAMES else f"{name[: _NAMES - 1]}…"
        self.console.print(
            Text.assemble((mark, f"bold {color}"), " ", f"{clean(shown):<{_NAMES}}", " ", clean(said))
        )

    def summary(self, results: RunResults) -> None:
        """Say how it ended."""
        models = [each for each in results.results if each.id.startswith("model.")]
        numbers = {s: sum(each.status == s for each in models) for s in ("success", "error", "skipped")}
        told = [f"{count(numbers['success'], 'model')} built"]
        told += [f"{numbers['error']} failed"] if numbers["error"] else []
        told += [f"{numbers['skipped']} skipped"] if numbers["skipped"] else []
        style = "bold red" if results.failed else "bold green"
        self.console.print(Text(f"{', '.join(told)} in {results.seconds:.1f} s", style))


def left_out(counts: Counts) -> Iterator[str]:
    """Say how many records of which source or model were left out, and why."""
    for fate, numbers in (("skipped", counts.skipped), ("sent to dead letters", counts.dead_letters)):
        for id_, number in numbers.items():
            kind, _, name = id_.partition(".")
            why = "a function failed" if fate == "skipped" else "a function or a data test failed"
            why = why if kind == "model" else "not decodable"
            yield f"{count(number, 'record')} of {name} {fate}: {why}"
    for id_, number in counts.tests.items():
        yield f"{count(number, 'row')} found wrong by data test {id_.removeprefix('test.')}"


def _made(query: Query) -> str:
    """Name a query by what it makes."""
    names = [t.model for t in query.outputs if not isinstance(t, DeadLetters)]
    told = [
        name.removeprefix("model.") if name.startswith("model.") else f"{name.rpartition('.')[2]} (reference)"
        for name in names
    ]
    return ", ".join(told) or query.name.replace("_", " ")
