"""All tests of a project in one run of pytest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.project.settings import read_settings
from millstream.tested import ModelCoverage
from millstream.testing.bed import Bed
from millstream.testing.coverage import summed
from millstream.testing.judging import Verdict

if TYPE_CHECKING:
    from millstream.manifest import ManifestNode
    from millstream.testing.choice import Choice
    from millstream.testing.items import Shown, UnitItem

AT_ONCE = 3
"""Unit tests at a time: while Spark plans one, the other one's tasks have the cores."""
AHEAD = 5


class Tests:
    """The project's tests, and what is known of those that were run."""

    __test__ = False  # pytest, this is none

    def __init__(self, root: Path, choice: Choice | None, *, update: bool, coverage: bool) -> None:
        self.root = root
        self.choice = choice
        self.update = update
        self.bed = Bed(root, choice.options if choice else None)
        self.bed.covering = [] if coverage else None
        self.warned: list[Shown] = []
        self.updated: list[str] = []
        """Tests into which was written what came."""
        settings, _ = read_settings(root)
        places = (settings.model_paths, settings.macro_paths, settings.seed_paths, settings.test_paths)
        self._folders = [root / path for paths in places for path in paths]
        self._sql = [root / path for path in settings.test_paths]
        self._units: list[UnitItem] = []
        self._running: dict[str, Future[Verdict]] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE, "unit-test")

    def has(self, file: Path) -> bool:
        """Tell whether a file may hold tests of the project."""
        folders = self._sql if file.suffix == ".sql" else self._folders
        return any(file.is_relative_to(folder) for folder in folders)

    def nodes_in(self, file: Path) -> list[ManifestNode]:
        path = file.relative_to(self.root).as_posix()
        nodes = self.bed.nodes.values()
        return [each for each in nodes if each.path == path and each.kind in {"test", "unit_test"}]

    def wants(self, item: pytest.Item) -> bool:
        if self.choice is None or self.choice.ids is None:
            return True
        node = getattr(item, "node", None)
        return node is not None and node.id in self.choice.ids

    # -- unit tests, some ahead of the one that pytest waits for

    def follow(self, items: Sequence[pytest.Item]) -> None:
        from millstream.testing.items import DataItem, UnitItem

        self._units = [item for item in items if isinstance(item, UnitItem)]
        self.bed.jars = any(isinstance(item, DataItem) for item in items)
        if self._units:
            # While it starts, the first tests are planned.
            self._pool.submit(self.bed.spark)

    def verdict(self, item: UnitItem) -> Verdict:
        place = self._units.index(item) if item in self._units else len(self._units)
        for each in (item, *self._units[place + 1 : place + AHEAD]):
            if each.nodeid not in self._running:
                self._running[each.nodeid] = self._pool.submit(self.bed.judged, each.written)
        return self._running[item.nodeid].result()

    # -- the end

    def summary(self, reporter: Any) -> None:
        """Tell what concerns all tests together."""
        if self.bed.covering is not None:
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
        """Return what the unit tests that were run reach of each model."""
        found = self.bed.covering or []
        return summed([each for _, each in found], self.bed.nodes, [model for model, _ in found])

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.bed.close()


def coverage_lines(models: Sequence[ModelCoverage]) -> Iterator[str]:
    """Yield a line for each model, and below it what is not reached, with where it is written."""
    width = max((len(each.id) for each in models), default=0)
    for each in models:
        name = each.id.partition(".")[2]
        told = f"{each.reached} of {each.ways} ways" if each.ways else "no branches"
        yield f"{name:<{width}}  {each.tests:>3} tests  {told if each.run else 'no unit test runs it'}"
        for missed in each.missed:
            place = f"{each.path}:{missed.line}: " if missed.line else ""
            yield f"    {place}{missed.said}"
    reached, ways = sum(each.reached for each in models), sum(each.ways for each in models)
    run = sum(each.run for each in models)
    yield f"{run} of {len(models)} models, {reached} of {ways} ways through filters and branches"
