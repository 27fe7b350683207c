"""All tests of a project in one run of pytest."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from millstream.manifest import ManifestNode
from millstream.project.settings import read_settings
from millstream.project.values import UnitTest
from millstream.tested import ModelCoverage
from millstream.testing.coverage.report import coverage_lines, summarize_coverage
from millstream.testing.plugin.failure import FailureReport
from millstream.testing.plugin.request import TestRequest
from millstream.testing.session import TestSession
from millstream.testing.units.verdict import Verdict

AT_ONCE = 3
"""Unit tests at a time: while Spark plans one, the other one's tasks have the cores."""
AHEAD = 5
"""Unit tests that are started before pytest asks for them."""


class ProjectTests:
    """The project's tests, and what is known of those that were run."""

    def __init__(self, root: Path, request: TestRequest, *, update: bool, coverage: bool) -> None:
        self.root = root
        self.request = request
        self.update = update
        self.session = TestSession(root, request.options)
        self.session.coverage = [] if coverage else None
        self.warned: list[FailureReport] = []
        self.updated: list[str] = []
        """Tests whose expected rows were replaced."""
        settings, _ = read_settings(root)
        places = (settings.model_paths, settings.macro_paths, settings.seed_paths, settings.test_paths)
        self._folders = [root / path for paths in places for path in paths]
        self._sql = [root / path for path in settings.test_paths]
        self._units: list[tuple[str, UnitTest]] = []
        self._running: dict[str, Future[Verdict]] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE, "unit-test")

    def has(self, file: Path) -> bool:
        """Tell whether a file may hold tests of the project."""
        folders = self._sql if file.suffix == ".sql" else self._folders
        return any(file.is_relative_to(folder) for folder in folders)

    def nodes_in(self, file: Path) -> list[ManifestNode]:
        path = file.relative_to(self.root).as_posix()
        nodes = self.session.nodes.values()
        return [each for each in nodes if each.path == path and each.kind in {"test", "unit_test"}]

    def wants(self, item: pytest.Item) -> bool:
        if self.request.ids is None:
            return True
        node = getattr(item, "node", None)
        return node is not None and node.id in self.request.ids

    # -- unit tests, some ahead of the one that pytest waits for

    def start(self, units: Sequence[tuple[str, UnitTest]], *, with_data: bool) -> None:
        """Take note of the unit tests that pytest will ask for, by the ids of its nodes."""
        self._units = list(units)
        self.session.needs_jars = with_data
        if units:
            # While it starts, the first tests are planned.
            self._pool.submit(self.session.spark)

    def verdict(self, nodeid: str, unit: UnitTest) -> Verdict:
        """Return the verdict of a unit test; start some of those that follow."""
        place = next((i for i, (id_, _) in enumerate(self._units) if id_ == nodeid), len(self._units))
        for id_, each in ((nodeid, unit), *self._units[place + 1 : place + AHEAD]):
            if id_ not in self._running:
                self._running[id_] = self._pool.submit(self.session.judge, each)
        return self._running[nodeid].result()

    # -- the end

    def summary(self, reporter: Any) -> None:
        """Write what concerns all tests together."""
        if self.session.coverage is not None:
            reporter.section("coverage of models by unit tests")
            for line in coverage_lines(self.coverage()):
                reporter.write_line(line)
        if self.updated:
            reporter.section("expectations that were written", yellow=True)
            reporter.write_line("\n".join(self.updated))
            reporter.write_line("Look at the difference before you commit it: git diff")
        if self.warned:
            reporter.section("data tests that warn", yellow=True)
            for each in self.warned:
                each.toterminal(reporter._tw)  # noqa: SLF001 -- what a TerminalRepr is written to

    def coverage(self) -> tuple[ModelCoverage, ...]:
        """Return what the unit tests that were run reach of each model; nothing where it is not measured."""
        found = self.session.coverage
        return () if found is None else summarize_coverage(found, self.session.nodes)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.session.close()
