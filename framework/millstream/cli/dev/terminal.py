"""Rounds for people: a few lines for each, printed once and never redrawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from rich.text import Text

from millstream.cli.dev.events import (
    Data,
    EditReviewed,
    Event,
    ModelComputed,
    ProjectCompiled,
    RoundBegan,
    RoundEnded,
    TestsEnded,
)
from millstream.cli.diagnostics import count_of, from_data, render_diagnostic, summarize_diagnostics
from millstream.cli.output import OutputStyle, make_console
from millstream.cli.result_tables import NULL, format_table
from millstream.cli.result_values import as_text
from millstream.core.text import clean_text
from millstream.results.test_results import TestResult

_MARKS = {"added": "+", "removed": "-", "changed": "~"}
_COLORS = {"+": "green", "-": "red", "~": "yellow"}
_ARROW = "→"


class Terminal:
    def __init__(self, style: OutputStyle, name: str) -> None:
        self._console = make_console(style, sys.stdout)
        self._target = style.target
        self._name = name
        self._first = True

    def show(self, event: Event, _line: bytes, /) -> None:
        match event:
            case RoundBegan():
                self._begin(event)
            case ProjectCompiled():
                self._compiled(event)
            case EditReviewed():
                self._reviewed(event)
            case TestsEnded():
                self._tested(event)
            case ModelComputed():
                self._computed(event)
            case RoundEnded():
                self._ended(event)

    def _print(self, *parts: tuple[str, str] | str) -> None:
        self._console.print(Text.assemble(*parts))

    def _begin(self, event: RoundBegan) -> None:
        if not self._first:
            more = f" and {len(event.files) - 3} more" if len(event.files) > 3 else ""
            title = f"{datetime.now(timezone.utc).astimezone():%H:%M:%S} {', '.join(event.files[:3])}{more}"
            self._print("\n", (clean_text(title), "bold"))

    def _compiled(self, event: ProjectCompiled) -> None:
        diagnostics = [from_data(data) for data in event.diagnostics]
        for diagnostic in diagnostics:
            self._console.print(
                render_diagnostic(diagnostic, self._console.width, self._target), Text(), sep="\n"
            )
        if any(diagnostic.severity == "error" for diagnostic in diagnostics):
            self._line("✗", "red", summarize_diagnostics(diagnostics, event.models), event.seconds)
        else:
            self._line("✓", "green", f"{count_of(event.models, 'model')} compiled", event.seconds)

    def _line(self, mark: str, color: str, text: str, seconds: float) -> None:
        time = f"{seconds:.1f} s"
        width = max(20, min(self._console.width, 80) - len(time) - 3)
        self._print((mark, f"bold {color}"), " ", f"{clean_text(text):<{width}}", " ", (time, "dim"))

    def _cut(self, text: str) -> str:
        text, width = clean_text(text), self._console.width
        return f"{text[: width - 1]}…" if self._console.is_terminal and len(text) > width else text

    def _reviewed(self, event: EditReviewed) -> None:
        self._print("  this edit ", (event.summary, "bold"), (f" ({event.against})", "dim"))
        for query in event.queries:
            reasons = query.get("reasons") or ()
            if query["status"] in {"rebuild", "mixed", "stored"} and reasons:
                self._print((self._cut(f"    {query['name']}: {reasons[0]}"), "dim"))
        for model in event.removed:
            self._print("  ", (clean_text(model), "bold"), " was removed")

    def _tested(self, event: TestsEnded) -> None:
        wrong = [result for result in event.results if result.status in {"fail", "error"}]
        for result in wrong:
            self._failed(result)
        number = count_of(len(event.results), "unit test")
        if wrong:
            self._line("✗", "red", f"{number}: {len(wrong)} failed", event.seconds)
        else:
            self._line("✓", "green", number, event.seconds)

    def _failed(self, result: TestResult) -> None:
        for data in result.diagnostics:
            self._console.print(render_diagnostic(from_data(data), self._console.width, self._target))
        if result.details:
            self._print(clean_text(result.details))

    def _computed(self, event: ModelComputed) -> None:
        if event.diagnostics:
            for data in event.diagnostics:
                self._console.print(render_diagnostic(from_data(data), self._console.width, self._target))
            self._line("✗", "red", f"{event.model}: not computed", event.seconds)
            return
        text = (
            f"{event.model}: {count_of(event.total, 'row')} of the sample, {describe_changes(event.changes)}"
        )
        self._line("✓", "green", text, event.seconds)
        for line in table_lines(event, self._console.width - 2):
            self._print("  ", (line, _COLORS.get(line[:1], "")))

    def _ended(self, event: RoundEnded) -> None:
        for data in event.diagnostics:
            self._console.print(render_diagnostic(from_data(data), self._console.width, self._target))
        if event.left_out:
            self._print((f"  not computed, but changed too: {', '.join(event.left_out)}", "dim"))
        if self._first and event.exit_code == 0:
            self._print((f"Watching {self._name}: save a file to see what changes. Ctrl-C ends.", "bold"))
        self._first = False


def describe_changes(changes: Data | None) -> str:
    """Say how rows differ: `12 added, 3 changed`."""
    if changes is None:
        return "a new model"
    parts = [f"{changes[name]:,} {name}" for name in _MARKS if changes[name]]
    parts += [f"new column {name}" for name in changes["new_columns"]]
    parts += [f"without column {name}" for name in changes["lost_columns"]]
    return ", ".join(parts) or "the same as before"


def table_lines(event: ModelComputed, width: int) -> Iterator[str]:
    """Yield the rows that differ, or the first rows if none do, as a table."""
    differing = event.changes["rows"] if event.changes else ()
    rows = [_changed_row(change) for change in differing] or [{"": "", **row} for row in event.rows]
    if not rows:
        return
    columns = _ordered(event.columns, rows, differing)
    values = [[row.get(column) for column in columns] for row in rows]
    parts = format_table(columns, values, width, timezone.utc)
    yield from "".join(text for text, _ in parts).split("\n")


def _changed_row(change: Data) -> dict[str, Any]:
    """Return a row with its mark; values that differ have both versions."""
    before, after = change["before"], change["after"]
    if before is None or after is None:
        return {"": "-" if after is None else "+", **(before or after)}
    shown = dict(after)
    for column in change["columns"]:
        shown[column] = f"{_text(before[column])} {_ARROW} {_text(after[column])}"
    return {"": "~", **shown}


def _text(value: Any) -> str:
    return NULL if value is None else as_text(value, timezone.utc)


def _ordered(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], differing: Sequence[Data]
) -> list[str]:
    """Return the columns of a table: the first one, then those that differ, since a terminal is narrow."""
    names = dict.fromkeys([*columns, *(name for row in rows for name in row if name)])
    first = next(iter(names), "")
    changed = dict.fromkeys(name for change in differing for name in change["columns"])
    mark = [""] if differing else []
    return [*mark, *dict.fromkeys([first, *changed, *names])]
