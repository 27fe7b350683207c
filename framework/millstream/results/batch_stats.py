"""How long the batches of a run's queries take, in files next to their checkpoints, for `explain`."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Mapping
from datetime import datetime, timezone

from msgspec import Struct

from millstream.results.checkpoint_stats import figures_at

FILE = "batches.json"
_NEWEST = 100
"""Batches that figures are computed from."""


class BatchFigures(Struct, frozen=True):
    """Medians of the newest batches with rows."""

    batches: int
    rows: float
    seconds: float
    """Without the wait for the query's turn."""
    time: str
    """When the newest of them ended."""


class BatchTimes:
    """The newest batches of a query."""

    def __init__(self) -> None:
        self._newest = deque[tuple[int, float]](maxlen=_NEWEST)
        self._time = ""

    def add(self, rows: int, seconds: float) -> None:
        if rows:
            self._newest.append((rows, seconds))
            self._time = datetime.now(timezone.utc).isoformat(timespec="seconds")

    def figures(self) -> BatchFigures | None:
        if not self._newest:
            return None
        rows, seconds = map(statistics.median, zip(*self._newest, strict=True))
        return BatchFigures(len(self._newest), rows, seconds, self._time)


def measured_batches(checkpoints: str) -> Mapping[str, BatchFigures]:
    """Return the figures of all queries by name, if checkpoints are on this machine."""
    return dict(figures_at(checkpoints, FILE, BatchFigures))


def in_words(figures: BatchFigures) -> str:
    """Return figures in words: `0.3 s for 62 rows: medians of 100 batches, the newest on 2026-11-27`."""
    rows = f"{figures.rows:,.0f} row{'' if round(figures.rows) == 1 else 's'}"
    medians = f"medians of {figures.batches} batches" if figures.batches > 1 else "one batch"
    newest = ", the newest on" if figures.batches > 1 else " on"
    return f"{figures.seconds:.2f} s for {rows}: {medians}{newest} {figures.time[:10]}"
