"""What `millstream test` wants of all tests of a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from millstream.testing.bed import Options
from millstream.testing.coverage import Model

Status = Literal["pass", "warn", "fail", "error", "skipped"]


class Result(Struct, frozen=True):
    """What became of one test."""

    id: str
    kind: Literal["unit_test", "test", "python"]
    status: Status
    seconds: float
    path: str
    line: int
    diagnostics: tuple[dict[str, Any], ...] = ()
    details: str = ""
    """The rows that differ, as text."""


class Choice:
    """Says what is wanted, and is told what became of it."""

    def __init__(self, options: Options, ids: frozenset[str] | None, *, strict: bool = False) -> None:
        self.options = options
        self.ids = ids
        """None: all, those in Python, too."""
        self.strict = strict
        """What has not been built is an error."""
        self.results: list[Result] = []
        self.coverage: tuple[Model, ...] = ()


class TestResults(Struct, frozen=True):
    """`test_results.json`."""

    command: str
    project: str
    target: str
    started: str
    seconds: float
    results: tuple[Result, ...]
    coverage: tuple[Model, ...]
    """Empty where nobody asked for it."""
    millstream_version: str

    __test__ = False  # pytest, this is none


def write_results(folder: Path, found: TestResults) -> None:
    import msgspec

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test_results.json").write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2))
