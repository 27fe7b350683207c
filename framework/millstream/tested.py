"""What became of each test, and what unit tests reach of each model: `test_results.json`."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.results import read_json, write_json

FILE = "test_results.json"
Status = Literal["pass", "warn", "fail", "error", "skipped"]


class TestResult(Struct, frozen=True):
    """What became of one test."""

    id: str
    kind: Literal["unit_test", "test", "python"]
    status: Status
    seconds: float
    path: str
    line: int
    diagnostics: tuple[dict[str, Any], ...] = ()
    details: str = ""
    """The rows that differ, or why it warns or was skipped, as text."""
    ran: str = ""
    """When the run began that it was part of."""

    __test__ = False  # pytest, this is none


class Missed(Struct, frozen=True):
    """A way that no row of a unit test takes."""

    said: str
    line: int = 0
    """Of the model's file as written; 0: it does not stand there."""


class ModelCoverage(Struct, frozen=True):
    """What unit tests reach of a model."""

    id: str
    path: str
    tests: int
    """How many test this model, and not another one that it is a part of."""
    ways: int
    reached: int
    missed: tuple[Missed, ...] = ()
    run: bool = True
    """Some unit test runs it."""
    checksum: str = ""
    """Of the file as written, when it was measured."""


class TestResults(Struct, frozen=True):
    command: str
    project: str
    target: str
    started: str
    seconds: float
    results: tuple[TestResult, ...]
    coverage: tuple[ModelCoverage, ...]
    """As it was when somebody last asked for it; empty: nobody has."""
    millstream_version: str
    earlier: tuple[TestResult, ...] = ()
    """The last results of tests that did not run this time."""

    __test__ = False


def with_earlier(found: TestResults, before: TestResults | None, known: Container[str]) -> TestResults:
    """Return results with what earlier runs said of other tests that are still there."""
    if before is None:
        return found
    now = {each.id for each in found.results}
    kept = {each.id: each for each in (*before.earlier, *before.results)}
    earlier = (each for id_, each in kept.items() if id_ in known and id_ not in now)
    return replace(found, earlier=tuple(earlier), coverage=found.coverage or before.coverage)


def write_test_results(folder: Path, results: TestResults) -> None:
    write_json(folder / FILE, results)


def read_test_results(folder: Path, project: str, target: str) -> TestResults | None:
    """Return the last results of tests on a target; None where none can be read: they are never needed."""
    return read_json(folder / FILE, TestResults, project, target)
