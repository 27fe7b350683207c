"""All tests of a project in one run of pytest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from millstream.compile.manifest import ManifestNode
from millstream.core.node_id import NodeId
from millstream.project.settings import read_settings
from millstream.project.values import UnitTest
from millstream.results.test_results import MissedPath, ModelCoverage
from millstream.testing.coverage.paths import CoveragePath, RowCoverage
from millstream.testing.plugin.failure import FailureReport
from millstream.testing.session import TestSession
from millstream.testing.units.verdict import UnitVerdict
from millstream.testing.variants import ProjectOptions

AT_ONCE = 3
"""Unit tests that run concurrently: while Spark plans one, the tasks of others use the cores."""
AHEAD = 5
"""Unit tests that are started before pytest gets to them."""


class TestRequest(Struct, frozen=True):
    """What `millstream test` requests from a run of pytest."""

    options: ProjectOptions = ProjectOptions()
    ids: frozenset[NodeId] | None = None
    """The tests to run; None: all, including those in Python."""
    strict: bool = False
    """Relations that have not been built are errors."""
    sample: int | None = None
    """Data tests are of what models compute from at most so many records of each input."""

    @property
    def has_python(self) -> bool:
        """Whether tests in Python may run."""
        return self.ids is None


class ProjectTests:
    """The project's tests, and the results of those that were run."""

    def __init__(self, root: Path, request: TestRequest, *, update: bool, coverage: bool) -> None:
        self.root = root
        self.request = request
        self.update = update
        self.session = TestSession(root, request.options, sample=request.sample)
        self.session.coverage = [] if coverage else None
        self.warned: list[FailureReport] = []
        self.updated: list[str] = []
        self.expired: Counter[str] = Counter()
        """Rows of state that expired in unit tests, by model."""
        settings, _ = read_settings(root)
        kinds = (settings.model_paths, settings.macro_paths, settings.seed_paths, settings.test_paths)
        self._folders = [root / path for paths in kinds for path in paths]
        self._sql = [root / path for path in settings.test_paths]
        self._units: list[tuple[str, UnitTest]] = []
        self._running: dict[str, Future[UnitVerdict]] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE, "unit-test")

    def has(self, file: Path) -> bool:
        """Tell whether a file may contain tests of the project."""
        folders = self._sql if file.suffix == ".sql" else self._folders
        return any(file.is_relative_to(folder) for folder in folders)

    def nodes_in(self, file: Path) -> list[ManifestNode]:
        path = file.relative_to(self.root).as_posix()
        nodes = self.session.nodes.values()
        return [node for node in nodes if node.path == path and node.kind in {"test", "unit_test"}]

    def is_selected(self, item: pytest.Item) -> bool:
        if self.request.ids is None:
            return True
        node = getattr(item, "node", None)
        return node is not None and node.id in self.request.ids

    # -- unit tests, some of them ahead of pytest

    def start(self, units: Sequence[tuple[str, UnitTest]], *, with_data: bool) -> None:
        """Remember the unit tests that pytest will run, by their node ids.

        The first one that can run starts Spark; one that is itself wrong needs none.
        """
        self._units = list(units)
        self.session.needs_jars = with_data

    def verdict(self, nodeid: str, unit: UnitTest) -> UnitVerdict:
        """Return the verdict of a unit test; start some of the following tests."""
        index = next((i for i, (id_, _) in enumerate(self._units) if id_ == nodeid), len(self._units))
        for id_, test in ((nodeid, unit), *self._units[index + 1 : index + AHEAD]):
            if id_ not in self._running:
                self._running[id_] = self._pool.submit(self.session.judge, test)
        return self._running[nodeid].result()

    # -- the end

    def summary(self, reporter: Any) -> None:
        """Write the sections about all tests: coverage, expired state, updated tests, and warnings."""
        if self.session.coverage is not None:
            reporter.section("coverage of models by unit tests")
            for line in coverage_lines(self.coverage()):
                reporter.write_line(line)
        if self.expired:
            reporter.section("state that expired in unit tests")
            for model, rows in self.expired.items():
                reporter.write_line(f"{model}: {rows:,} row{'' if rows == 1 else 's'}")
        if self.updated:
            reporter.section("updated expectations", yellow=True)
            reporter.write_line("\n".join(self.updated))
            reporter.write_line("Review the changes before you commit them: git diff")
        if self.warned:
            reporter.section("data tests with warnings", yellow=True)
            for report in self.warned:
                report.toterminal(reporter._tw)  # noqa: SLF001 -- a TerminalRepr needs it

    def coverage(self) -> tuple[ModelCoverage, ...]:
        """Return what the unit tests reach of each model; empty if it was not measured."""
        runs = self.session.coverage
        return () if runs is None else summarize_coverage(runs, self.session.nodes)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.session.close()


def summarize_coverage(
    runs: Sequence[tuple[NodeId, RowCoverage]], nodes: Mapping[NodeId, ManifestNode]
) -> tuple[ModelCoverage, ...]:
    """Add up the runs for each model; each run comes with the id of the tested model."""
    ways: dict[CoveragePath, int] = {}
    for _, run in runs:
        for way, rows in run.ways.items():
            ways[way] = ways.get(way, 0) + rows
    models: list[ModelCoverage] = []
    for node in nodes.values():
        if node.kind != "model":
            continue
        model_ways = {way: rows for way, rows in ways.items() if way.model == node.id}
        missed = tuple(MissedPath(way.label, way.line) for way, rows in model_ways.items() if not rows)
        models.append(
            ModelCoverage(
                node.id,
                node.path,
                sum(tested == node.id for tested, _ in runs),
                len(model_ways),
                len(model_ways) - len(missed),
                missed,
                any(node.id in run.models for _, run in runs),
                node.checksum,
            )
        )
    return tuple(models)


def coverage_lines(models: Sequence[ModelCoverage]) -> Iterator[str]:
    """Yield a line for each model, and below it its branches that are not reached, with their locations."""
    width = max((len(str(model.id)) for model in models), default=0)
    for model in models:
        name = model.id.name
        counts = f"{model.reached} of {model.ways} branches" if model.ways else "no branches"
        yield f"{name:<{width}}  {model.tests:>3} tests  {counts if model.run else 'no unit test runs it'}"
        for missed in model.missed:
            location = f"{model.path}:{missed.line}: " if missed.line else ""
            yield f"    {location}{missed.message}"
    reached, ways = sum(model.reached for model in models), sum(model.ways for model in models)
    run = sum(model.run for model in models)
    yield f"{run} of {len(models)} models, {reached} of {ways} branches of filters, CASE and IF"
