"""What became of each model: shown at the end, and written to `run_results.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from millstream import __version__
from millstream.errors import Diagnostic

FILE = "run_results.json"
Status = Literal["success", "error", "skipped"]


class ModelResult(Struct, frozen=True):
    """One model, or a reference topic that is kept as a table."""

    id: str
    status: Status
    query: str
    """The query that it runs in, with others perhaps; its rows and time are those of the whole query."""
    rows_read: int = 0
    seconds: float = 0.0
    message: str = ""


class RunResults(Struct, frozen=True):
    command: str
    project: str
    target: str
    started: str
    seconds: float
    results: tuple[ModelResult, ...]
    millstream_version: str = __version__

    @property
    def failed(self) -> bool:
        return any(each.status == "error" for each in self.results)


class Outcome(Struct, frozen=True):
    """What became of one query."""

    query: str
    status: Status
    rows: int = 0
    batches: int = 0
    seconds: float = 0.0
    message: str = ""
    problem: Diagnostic | None = None


def write_results(folder: Path, results: RunResults) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=2))
