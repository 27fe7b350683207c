"""Which events of a run are worth a notice."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator

from msgspec import Struct

from millstream.core.errors import Diagnostic
from millstream.deploy.values import (
    BatchCompleted,
    DataTested,
    Event,
    LeftOut,
    QueryFailed,
    QueryIdle,
    QueryRemoved,
)
from millstream.project.target_shapes import NoticeKind


class Notice(Struct, frozen=True, omit_defaults=True):
    """What happened, for people (`said`) and programs."""

    event: NoticeKind
    message: str
    query: str = ""
    model: str = ""
    of: str = ""
    """The source or model whose records are dead letters."""
    test: str = ""
    rows: int = 0
    code: str = ""
    help: str = ""


class Notices:
    """Turns events into notices; each cause has at most one per interval."""

    def __init__(self, every: float, kinds: Collection[NoticeKind] = ()) -> None:
        self._every = every
        """In seconds."""
        self._kinds = kinds
        """No kinds are all kinds."""
        self._last: dict[tuple[str, ...], float] = {}
        self._failing: set[tuple[str, str]] = set()
        """Queries and tests that have had a notice of a failure, and did not recover since."""
        self._rows: Counter[tuple[str, ...]] = Counter()
        """Rows since the last notice of a cause."""

    def of(self, event: Event) -> list[Notice]:
        return [notice for notice in self._all(event) if not self._kinds or notice.event in self._kinds]

    def of_end(self, diagnostic: Diagnostic) -> list[Notice]:
        """Return the notice of an error that ends the run."""
        is_sent = not self._kinds or "ended" in self._kinds
        return [_of_diagnostic("ended", "the run ended", diagnostic)] if is_sent else []

    def _all(self, event: Event) -> Iterator[Notice]:
        match event:
            case QueryFailed(query=query, diagnostic=diagnostic):
                if self._is_due("failed", query, diagnostic.code):
                    self._failing.add(("query", query))
                    yield _of_diagnostic("failed", f"query {query} failed", diagnostic, query=query)
            case LeftOut(query=query, model=id_, diagnostic=diagnostic):
                model = id_.shown_name
                if self._is_due("left_out", model, diagnostic.code):
                    message = f"model {model} failed and is left out of query {query}"
                    yield _of_diagnostic("left_out", message, diagnostic, query=query, model=model)
            case BatchCompleted(query=query, batch=batch):
                yield from self._recovered("query", query)
                for of, rows in batch.counts.dead_letters.items():
                    if total := self._counted(rows, "dead_letters", query, str(of)):
                        message = f"{total:,} new dead letters of {of} in query {query}"
                        yield Notice("dead_letters", message, query=query, of=str(of), rows=total)
                for id_, rows in batch.counts.tests.items():
                    test = id_.name
                    if total := self._counted(rows, "test_violated", query, test):
                        message = f"{total:,} rows of query {query} failed the data test {test}"
                        yield Notice("test_violated", message, query=query, test=test, rows=total)
            case QueryIdle(query=query):
                yield from self._recovered("query", query)
            case DataTested(test=id_, passed=passed):
                test = id_.name
                if passed:
                    yield from self._recovered("test", test)
                elif self._is_due("test", test):
                    self._failing.add(("test", test))
                    kind: NoticeKind = "freshness_missed" if event.kind == "freshness" else "test_violated"
                    yield Notice(kind, f"data test {test} failed: {event.message}", test=test)
            case QueryRemoved(query=query):
                self._failing.discard(("query", query))
            case _:
                pass

    def _recovered(self, kind: str, name: str) -> Iterator[Notice]:
        """Yield that what had a notice of its failure works again."""
        if (kind, name) in self._failing:
            self._failing.discard((kind, name))
            yield (
                Notice("recovered", f"query {name} works again", query=name)
                if kind == "query"
                else Notice("recovered", f"data test {name} passes again", test=name)
            )

    def _counted(self, rows: int, *cause: str) -> int:
        """Return the rows since the last notice of a cause, if another one is due."""
        self._rows[cause] += rows
        return self._rows.pop(cause) if rows and self._is_due(*cause) else 0

    def _is_due(self, *cause: str) -> bool:
        now = time.monotonic()
        if cause in self._last and now - self._last[cause] < self._every:
            return False
        self._last[cause] = now
        return True


def _of_diagnostic(
    kind: NoticeKind, message: str, diagnostic: Diagnostic, query: str = "", model: str = ""
) -> Notice:
    text = f"{message}: {diagnostic.code}: {diagnostic.message}"
    return Notice(kind, text, query=query, model=model, code=diagnostic.code, help=diagnostic.help)
