"""What a terminal, or a program that reads lines of JSON, is told of a run."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from millstream.cli.diagnostics import as_data, count, render
from millstream.cli.output import OutputStyle
from millstream.errors import Diagnostic, MillstreamError
from millstream.ops.seen import QueryStatus, Watcher
from millstream.runner.values import (
    Batched,
    Ends,
    Event,
    Failed,
    Idle,
    LeftOut,
    Running,
    Setup,
    Stopped,
    Told,
    Waiting,
)
from millstream.text import clean

_NAMES = 44


@contextmanager
def shown(look: OutputStyle, watcher: Watcher) -> Iterator[Showing]:
    made = Showing(look, watcher)
    if look.json or look.quiet or not made.console.is_terminal:
        yield made
        return
    with Live(console=made.console, get_renderable=made.view, refresh_per_second=2, transient=True):
        yield made


class Showing:
    """Passes what is told on to the watcher, and says it; told from several threads."""

    def __init__(self, look: OutputStyle, watcher: Watcher) -> None:
        # While the JVM starts, a file stands in for our standard error, which it inherits: keep the real one.
        self._file = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")
        self.console = Console(
            file=self._file,
            color_system="auto" if look.color else None,
            markup=False, emoji=False, highlight=False, soft_wrap=True, quiet=look.quiet and not look.json,
        )  # fmt: skip
        self._look = look
        self._watcher = watcher
        self._lock = threading.Lock()
        self._stage = ""

    @contextmanager
    def refusals(self) -> Iterator[list[Diagnostic]]:
        """Tell programs in lines, too, why a run ended; people are told as by all commands."""
        refused: list[Diagnostic] = []
        try:
            yield refused
        except MillstreamError as error:
            if not self._look.json:
                raise
            refused += error.diagnostics
            for problem in refused:
                self._problem(problem)

    def answers(self, address: str | None) -> None:
        if address is None:
            return
        with self._lock:
            self._say("serving", f"{address}/metrics, /healthz and /readyz", {"address": address})

    def tell(self, event: Event) -> None:
        self._watcher.tell(event)
        with self._lock:
            self._told(event)

    def _told(self, event: Event) -> None:
        match event:
            case Setup(name=name, said=said, done=done):
                self._stage = "" if done else f"{name}: {said}" if said else name
                if done and said:
                    self._say("stage", f"{name}: {said}", {"name": name, "said": said})
            case Running(query=query, anew=anew):
                said = f"{query.name} is rebuilt" if anew else f"{query.name} runs"
                self._say("started", said, {"query": query.name, "anew": anew})
            case Batched(query=name, batch=batch):
                self._batch(name, batch)
            case Failed(query=name, problem=problem, failures=failures, again=again):
                self._problem(problem)
                said = f"{name} failed, and starts again in {again:g} s"
                self._say("failed", said, {"query": name, "failures": failures, "again": again})
            case LeftOut(query=name, model=model, problem=problem):
                self._problem(problem)
                said = f"{model.partition('.')[2]} is left out of {name}; the others go on"
                self._say("left_out", said, {"query": name, "model": model})
            case Stopped(query=name):
                self._say("stopped", f"{name} stopped", {"query": name})
            case Told(diagnostic=problem):
                self._problem(problem)
            case Idle() | Waiting() | Ends():
                pass

    def _batch(self, name: str, batch: Any) -> None:
        if not batch.rows:
            return
        rate = batch.rows / batch.seconds if batch.seconds else 0.0
        said = f"{name}: {count(batch.rows, 'row')} in {batch.seconds:.1f} s, {rate:,.0f}/s"
        if behind := sum(batch.behind.values()):
            said += f", {behind:,} to go"
        if wrong := sum(batch.counts.tests.values()):
            said += f", {count(wrong, 'row')} found wrong by data tests"
        if self._look.json or not self.console.is_terminal:
            from msgspec import to_builtins

            self._say("batch", said, {"query": name} | to_builtins(batch))

    def _problem(self, problem: Diagnostic) -> None:
        if self._look.json:
            self._say("problem", problem.message, as_data(problem))
        else:
            self.console.print(render(problem, self.console.width))

    def _say(self, event: str, said: str, data: dict[str, Any]) -> None:
        now = datetime.now(timezone.utc)
        if self._look.json:
            line = {"time": now.isoformat(timespec="milliseconds"), "event": event, **data}
            click.echo(json.dumps(line))
        else:
            self.console.print(Text.assemble((f"{now:%H:%M:%S} ", "dim"), clean(said)))

    def view(self) -> Group:
        """Return a line for each query, as it is now."""
        seen = self._watcher.all()
        if not seen:
            return Group(Text(self._stage, "dim"))
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("query", max_width=_NAMES, no_wrap=True)
        for name in ("", "rows", "rows/s", "batch", "to go", "late", "state"):
            table.add_column(name, justify="right" if name else "left", no_wrap=True)
        for each in seen:
            table.add_row(*_row(each))
        return Group(table, Text(self._stage, "dim"))


_STYLES = {
    "running": "green",
    "waiting": "yellow",
    "failed": "bold red",
    "rebuilding": "cyan",
    "stopped": "dim",
}


def _row(seen: QueryStatus) -> list[Text]:
    batch = seen.last
    fresh = batch is not None and time.time() - seen.at < 10
    rate = batch.rows / batch.seconds if batch and fresh and batch.seconds else 0.0
    behind = sum(seen.lag.values())
    return [
        Text(clean(seen.query)),
        Text(seen.status, _STYLES[seen.status]),
        Text(f"{seen.rows:,}"),
        Text(f"{rate:,.0f}"),
        Text(f"{batch.seconds:.1f} s" if batch else ""),
        Text(f"{behind:,}" if batch else "", "yellow" if behind else "dim"),
        Text(f"{seen.late:,}" if seen.late else ""),
        Text(f"{batch.state_rows:,}" if batch and batch.state_rows else ""),
    ]
