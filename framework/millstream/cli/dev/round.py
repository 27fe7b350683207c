"""One round of `dev`: compile, review the edit, run its unit tests, and compute its models over a sample."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from millstream.cli.dev.before import LastRound, load_round, round_of, save_round
from millstream.cli.dev.edit import Edit, edit_since, review_event
from millstream.cli.dev.events import Data, Event, ModelComputed, ProjectCompiled, RoundEnded, TestsEnded
from millstream.cli.dev.process import RoundOptions
from millstream.cli.diagnostics import as_data
from millstream.cli.options import CommonOptions
from millstream.cli.project import compile_for, models_in, project_of
from millstream.cli.result_values import to_objects
from millstream.cli.test_runs import options_of
from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.settings import read_settings
from millstream.results.test_results import TestResult

if TYPE_CHECKING:
    from millstream.compile.manifest import Compiled
    from millstream.project.values import Project
    from millstream.runner.samples.sampling import Sampling
    from millstream.stores.tables.values import Answer
    from millstream.testing.session import TestSession

_MOST_MODELS = 5
"""Models that are computed in a round; the others are named."""


Tell = Callable[[Event], None]


class Round:
    def __init__(self, common: CommonOptions, root: Path, options: RoundOptions, tell: Tell) -> None:
        self._common = common
        self._root = root
        self._options = options
        self._listener = tell
        self._telling = threading.Lock()
        self._began = time.monotonic()

    def run(self) -> int:
        """Tell the events of the round, and return its exit code."""
        try:
            ended = self._run()
        except MillstreamError as error:
            ended = RoundEnded(2, self._seconds(self._began), self._data(error.diagnostics))
        self._tell(ended)
        return ended.exit_code

    def _tell(self, event: Event) -> None:
        """Tell an event, from the thread of the tests or of the rows."""
        with self._telling:
            self._listener(event)

    def _run(self) -> RoundEnded:
        compiled = self._compile()
        if any(diagnostic.severity == "error" for diagnostic in compiled.diagnostics):
            return RoundEnded(2, self._seconds(self._began))
        target_path = self._root / read_settings(self._root)[0].target_path
        project, last = project_of(self._common, self._root), load_round(target_path)
        if self._options.first or last is None:
            save_round(target_path, round_of(project, compiled, ()))
            return RoundEnded(0, self._seconds(self._began))
        edit = edit_since(last, compiled, self._root)
        self._tell(review_event(self._common, self._root, edit))
        # When the round is interrupted, Spark is stopped first, which ends the tests.
        with ThreadPoolExecutor(1, "tests") as tests, closing(self._session(project, compiled)) as session:
            tested = tests.submit(self._test, session, edit)
            computed = [self._compute(session, last, edit, model) for model in edit.shown[:_MOST_MODELS]]
            results = tested.result()
        failed = tuple(result.id for result in results if result.status in {"fail", "error"})
        save_round(target_path, round_of(project, compiled, failed))
        code = int(bool(failed) or any(model.diagnostics for model in computed))
        left_out = tuple(model.shown_name for model in edit.shown[_MOST_MODELS:])
        return RoundEnded(code, self._seconds(self._began), left_out=left_out)

    def _compile(self) -> Compiled:
        from millstream.cli.commands.compile import unit_test_errors

        compiled = compile_for(self._common, self._root, check=unit_test_errors)
        diagnostics = sorted(compiled.diagnostics, key=lambda diagnostic: diagnostic.order)
        self._tell(ProjectCompiled(models_in(compiled), self._data(diagnostics), self._seconds(self._began)))
        return compiled

    def _session(self, project: Project, compiled: Compiled) -> TestSession:
        from millstream.testing.session import TestSession
        from millstream.testing.variants import variant_of

        main = variant_of(project, compiled)
        return TestSession(self._root, options_of(self._common), sample=self._options.sample, main=main)

    def _test(self, session: TestSession, edit: Edit) -> list[TestResult]:
        if not edit.tests:
            return []
        from millstream.testing.build_tests import run_nodes

        began = time.monotonic()
        results = run_nodes(session, edit.tests, lambda _: None)
        self._tell(TestsEnded(tuple(results), self._seconds(began)))
        return results

    def _compute(self, session: TestSession, last: LastRound, edit: Edit, model: NodeId) -> ModelComputed:
        began = time.monotonic()
        zone = ZoneInfo(str(session.built.project.target.settings.get("timezone", "UTC")))
        try:
            rows = session.sampling.rows(session.spark(), model, None)
            changes = self._changes(session, last, edit, model, rows, zone)
        except MillstreamError as error:
            event = ModelComputed(model.shown_name, (), (), 0, None, self._data(error.diagnostics), 0)
        else:
            first = tuple(to_objects(rows.columns, rows.rows[: self._options.limit], zone))
            event = ModelComputed(model.shown_name, rows.columns, first, len(rows.rows), changes, (), 0)
        event = replace(event, seconds=self._seconds(began))
        self._tell(event)
        return event

    def _changes(
        self, session: TestSession, last: LastRound, edit: Edit, model: NodeId, rows: Answer, zone: ZoneInfo
    ) -> Data | None:
        """Return how the rows differ from those before the edit; None if the model is new."""
        from millstream.runner.samples.row_changes import compare_rows

        if model not in edit.before.manifest.nodes:
            return None
        # What the compiler has proven to be the same need not be computed twice.
        before = (
            self._before(session, last, edit).rows(session.spark(), model, None)
            if model in edit.changed
            else rows
        )
        changes = compare_rows(before, rows, edit.identity(session.sampling.catalog, model))
        data: dict[str, object] = to_builtins(replace(changes, rows=()))
        data["rows"] = [
            {
                "before": change.before and _object(change.before, zone),
                "after": change.after and _object(change.after, zone),
                "columns": change.columns,
            }
            for change in changes.rows[: self._options.limit]
        ]
        return data

    def _before(self, session: TestSession, last: LastRound, edit: Edit) -> Sampling:
        """Return the version before the edit over the same sample."""
        return session.sampling.of_version(last.project(session.built.project), edit.before.compiled)

    def _data(
        self, diagnostics: Iterator[Diagnostic] | tuple[Diagnostic, ...] | list[Diagnostic]
    ) -> tuple[Data, ...]:
        return tuple(as_data(diagnostic, self._common.style.target) for diagnostic in diagnostics)

    @staticmethod
    def _seconds(began: float) -> float:
        return round(time.monotonic() - began, 3)


def _object(row: dict[str, object], zone: ZoneInfo) -> Data:
    return to_objects(tuple(row), [tuple(row.values())], zone)[0]
