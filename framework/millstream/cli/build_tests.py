"""The tests around a build: unit tests of its models before it, data tests of what it built after it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.cli.options import CommonOptions, SelectionRequest, TestOptions
from millstream.cli.project import select_nodes
from millstream.core.node_id import NodeId
from millstream.project.values import is_local
from millstream.results.test_results import TestResult, TestRun

if TYPE_CHECKING:
    from millstream.cli.build_progress import BuildProgress
    from millstream.compile.manifest import Compiled, ManifestNode
    from millstream.deploy.values import Job
    from millstream.results.run_results import RunResults
    from millstream.testing.build_tests import Show
    from millstream.testing.session import TestSession


class _Tests(Struct, frozen=True):
    """Tests of one kind, by ID, and digests of what they run over, where it is known."""

    what: str
    nodes: Mapping[NodeId, ManifestNode] = {}
    contents: Mapping[NodeId, str] = {}


class TestsOfBuild:
    """Runs what is not known to do the same as before, and collects the results."""

    __test__ = False  # not a test of pytest

    def __init__(
        self,
        common: CommonOptions,
        compiled: Compiled,
        job: Job,
        request: SelectionRequest,
        tests: TestOptions,
    ) -> None:
        self._common = common
        self._compiled = compiled
        self._job = job
        self._request = request
        self._tests = tests
        folder = Path(job.project.root) / job.project.settings.target_path
        self._test_run = TestRun("build", folder, compiled.manifest)
        self._stack = ExitStack()
        self._progress: BuildProgress | None = None
        self._lock = threading.Lock()
        self._built: set[NodeId] = set()
        self._ran: set[NodeId] = set()
        self.results: list[TestResult] = []
        self.ends: list[float] = []
        """When each phase ended, by the monotonic clock: start, unit tests, models with their data tests."""

    def show_on(self, progress: BuildProgress) -> TestsOfBuild:
        self._progress = progress
        return self

    def close(self) -> None:
        """Write the results."""
        self._stack.close()
        if self.results:
            self._test_run.store(self.results)

    @property
    def code(self) -> int:
        """The exit code of the tests: 2 if one is itself wrong."""
        statuses = {result.status for result in self.results}
        return 2 if "error" in statuses else 1 if "fail" in statuses else 0

    def all_passed_before(self) -> bool:
        """Whether no test need run if nothing is built; if so, these are the results."""
        groups = [self._unit_tests, self._data_tests()]
        unchanged = [self._unchanged(group.contents) for group in groups]
        if any(group.nodes.keys() - results.keys() for group, results in zip(groups, unchanged, strict=True)):
            return False
        self.results = [result for results in unchanged for result in results.values()]
        return True

    def before(self) -> bool:
        self.ends.append(time.monotonic())
        self._run(self._unit_tests)
        self.ends.append(time.monotonic())
        if self.code:
            self._stack.close()
        return not self.code

    def built(self, query: str, models: frozenset[NodeId], /) -> None:
        """Run the data tests of what a query has stored, and of it with what was stored before it."""
        progress = self._progress
        assert progress is not None
        with self._lock:
            self._built |= models
            tests = self._data_tests(built=frozenset(self._built))
            if tests.nodes:
                progress.test_query(query)
                unchanged = self._run_changed(tests, partial(progress.hold, query))
                progress.hold_unchanged(query, tests.what, unchanged)

    def after(self, results: RunResults, /) -> None:
        """Run the data tests that read only models that were built."""
        self.test_rows(frozenset(result.id for result in results.results if result.status != "success"))
        self.ends.append(time.monotonic())

    def test_rows(self, not_built: frozenset[NodeId] = frozenset()) -> None:
        try:
            self._run(self._data_tests(not_built))
        finally:
            self._stack.close()  # while Spark, which is the build's, still runs

    @cached_property
    def _unit_tests(self) -> _Tests:
        """Return those to run on this machine's Spark; what runs on a cluster was tested before."""
        if self._tests.no_tests or self._tests.no_unit or not is_local(self._job.project.target):
            return _Tests("unit test")
        from millstream.testing.units.contents import unit_contents

        models = self._job.models
        nodes = {
            node.id: node
            for node in self._selected("unit_test")
            if models is None or models.intersection(node.depends_on)
        }
        return _Tests("unit test", nodes, unit_contents(self._job.project, self._compiled, nodes))

    def _data_tests(
        self, not_built: frozenset[NodeId] = frozenset(), built: frozenset[NodeId] | None = None
    ) -> _Tests:
        """Return those to run, without those of some models; if `built` is given, only those of these."""
        if self._tests.no_tests:
            return _Tests("data test")
        from millstream.testing.data.contents import contents_of

        nodes = {
            node.id: node
            for node in self._selected("test")
            if node.id not in self._ran
            and not not_built.intersection(node.depends_on)
            and (built is None or built.issuperset(node.depends_on))
            and not self._only_reads_production(node)
        }
        return _Tests("data test", nodes, contents_of(self._job.project, self._compiled, nodes))

    def _selected(self, kind: Literal["unit_test", "test"]) -> list[ManifestNode]:
        nodes = self._compiled.manifest.nodes
        return [nodes[id_] for id_ in self._ids if nodes[id_].kind == kind]

    @cached_property
    def _ids(self) -> list[NodeId]:
        return sorted(select_nodes(self._common, self._compiled, self._request, with_tests=True).ids)

    def _only_reads_production(self, node: ManifestNode) -> bool:
        """Whether an environment reads all that is tested from production, which tests it."""
        nodes = self._compiled.manifest.nodes
        models = [nodes[id_] for id_ in node.depends_on if id_ in nodes and nodes[id_].kind == "model"]
        return bool(models) and all(model.deferred for model in models)

    def _run(self, tests: _Tests) -> None:
        unchanged = self._unchanged(tests.contents)
        progress = self._progress
        assert progress is not None
        progress.show_unchanged(tests.what, len(unchanged))
        if number := len(tests.nodes.keys() - unchanged.keys()):
            with progress.testing(tests.what, number) as show:
                self._run_changed(tests, show)
        else:
            self._run_changed(tests, lambda _: None)

    def _run_changed(self, tests: _Tests, show: Show) -> int:
        """Run tests that are not known to pass again; return how many are."""
        unchanged = self._unchanged(tests.contents)
        changed = [node for id_, node in tests.nodes.items() if id_ not in unchanged]
        self._ran |= tests.nodes.keys()
        self.results += unchanged.values()
        if changed:
            from millstream.testing.build_tests import run_nodes

            for result in run_nodes(self._session, changed, show):
                contents = tests.contents.get(NodeId.parse(result.id), "")
                self.results.append(replace(result, ran=self._test_run.started, contents=contents))
        return len(unchanged)

    @cached_property
    def _session(self) -> TestSession:
        from millstream.cli.test_runs import options_of
        from millstream.testing.build_tests import session_of_build

        session = session_of_build(Path(self._job.project.root), options_of(self._common))
        self._stack.callback(session.close)
        return session

    def _unchanged(self, contents: Mapping[NodeId, str]) -> dict[NodeId, TestResult]:
        """Return the tests that passed over what they would run over again."""
        if self._tests.all_tests:
            return {}
        before = self._test_run.before
        results = () if before is None else (*before.earlier, *before.results)
        passed = (result for result in results if result.status == "pass" and result.contents)
        ids = ((NodeId.parse(result.id), result) for result in passed)
        return {
            id_: replace(result, unchanged=True)
            for id_, result in ids
            if contents.get(id_) == result.contents
        }
