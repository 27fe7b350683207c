"""The result of each test, and the coverage of each model: `test_results.json`."""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream import __version__
from millstream.core.node_id import NodeId
from millstream.results.run_results import read_json, write_json

if TYPE_CHECKING:
    from millstream.compile.manifest import Manifest

FILE = "test_results.json"
Status = Literal["pass", "warn", "fail", "error", "skipped"]


class TestResult(Struct, frozen=True):
    """The result of one test."""

    id: str
    """The text of its node id; pytest's name of a test in Python."""
    kind: Literal["unit_test", "test", "python"]
    status: Status
    seconds: float
    path: str
    line: int
    diagnostics: tuple[dict[str, Any], ...] = ()
    details: str = ""
    """The rows that differ, or why it warned or was skipped."""
    ran: str = ""
    """When its run started."""
    expired: int = 0
    """Of a unit test: how many rows or keys of the model's state expired."""
    contents: str = ""
    """Of a data test that a build ran: a digest of its SQL and the rows it reads; empty if unknown."""
    unchanged: bool = False
    """It passed in an earlier build, at `ran`, over the same rows."""

    __test__ = False  # not a test of pytest


class MissedPath(Struct, frozen=True):
    """A way that no row of a unit test takes."""

    message: str
    line: int = 0
    """In the model's file as written; 0 if it is not there."""


class ModelCoverage(Struct, frozen=True):
    """The coverage of a model by unit tests."""

    id: NodeId
    path: str
    tests: int
    """The number of unit tests of this model itself, not of a downstream model."""
    ways: int
    reached: int
    missed: tuple[MissedPath, ...] = ()
    run: bool = True
    """Whether any unit test runs it."""
    checksum: str = ""
    """The digest of the file when coverage was measured."""


class TestResults(Struct, frozen=True):
    command: str
    project: str
    target: str
    started: str
    seconds: float
    results: tuple[TestResult, ...]
    coverage: tuple[ModelCoverage, ...]
    """As last measured; empty if never measured."""
    millstream_version: str
    earlier: tuple[TestResult, ...] = ()
    """The latest results of tests that did not run this time."""

    __test__ = False


class TestRun:
    """A run of tests, which begins now."""

    __test__ = False

    def __init__(self, command: str, folder: Path, manifest: Manifest) -> None:
        self._command, self._folder, self._manifest = command, folder, manifest
        self._began, now = time.monotonic(), datetime.now(timezone.utc)
        self.started = now.isoformat(timespec="seconds")
        self.before = read_test_results(folder, manifest.project, manifest.target)

    def store(self, results: Sequence[TestResult], coverage: tuple[ModelCoverage, ...] = ()) -> TestResults:
        """Write what was found, next to the latest results of other tests."""
        run_results = self.results_of(results, coverage)
        write_test_results(
            self._folder, with_earlier_results(run_results, self.before, set(map(str, self._manifest.nodes)))
        )
        return run_results

    def results_of(
        self, results: Sequence[TestResult], coverage: tuple[ModelCoverage, ...] = ()
    ) -> TestResults:
        return TestResults(
            self._command,
            self._manifest.project,
            self._manifest.target,
            self.started,
            round(time.monotonic() - self._began, 3),
            tuple(replace(result, ran=result.ran or self.started) for result in results),
            coverage,
            __version__,
        )


def with_earlier_results(
    results: TestResults, before: TestResults | None, ids: Container[str]
) -> TestResults:
    """Return results with those of earlier runs for tests that still exist but did not run."""
    if before is None:
        return results
    current = {result.id for result in results.results}
    by_id = {result.id: result for result in (*before.earlier, *before.results)}
    earlier = (result for id_, result in by_id.items() if id_ in ids and id_ not in current)
    return replace(results, earlier=tuple(earlier), coverage=results.coverage or before.coverage)


def write_test_results(folder: Path, results: TestResults) -> None:
    write_json(folder / FILE, results)


def read_test_results(folder: Path, project: str, target: str) -> TestResults | None:
    """Return the last test results of a target; None if they can't be read, since they are optional."""
    return read_json(folder / FILE, TestResults, project, target)
