"""Selects and runs tests for the command `test`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.cli.options import CommonOptions, SelectionRequest
from millstream.cli.project import empty_selection_errors, select_nodes
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.settings import read_settings

if TYPE_CHECKING:
    from millstream.compile.manifest import Compiled
    from millstream.results.test_results import TestResults
    from millstream.testing.variants import ProjectOptions


def select_tests(
    common: CommonOptions, compiled: Compiled, request: SelectionRequest, *, unit: bool, data: bool
) -> tuple[frozenset[NodeId] | None, list[Diagnostic]]:
    """Return the selected tests; None means all, including those in Python."""
    if request.everything and unit == data:
        return None, []
    selection = select_nodes(common, compiled, request, with_tests=True)
    if not selection.ids and (diagnostics := empty_selection_errors(request, selection)):
        raise MillstreamError(*diagnostics)
    kinds = {"unit_test"} if unit and not data else {"test"} if data and not unit else {"unit_test", "test"}
    nodes = compiled.manifest.nodes
    return frozenset(id_ for id_ in selection.ids if nodes[id_].kind in kinds), list(selection.diagnostics)


def options_of(common: CommonOptions) -> ProjectOptions:
    """Return the options that the project is compiled with for tests."""
    from millstream.testing.variants import ProjectOptions

    profiles = str(common.profiles_dir) if common.profiles_dir else None
    return ProjectOptions(common.target, common.vars, profiles, common.environment)


def run_tests(
    common: CommonOptions,
    root: Path,
    compiled: Compiled,
    ids: frozenset[NodeId] | None,
    flags: Sequence[str] = (),
    *,
    began: float,
    strict: bool = False,
    sample: int | None = None,
) -> tuple[int, TestResults]:
    """Run tests, and return the exit code and the results; those of a sample are not kept."""
    from millstream.cli.signals import ending_well
    from millstream.results.test_results import TestRun
    from millstream.testing.plugin.project_tests import TestRequest
    from millstream.testing.plugin.run import Reporter, run_pytest

    reporter = Reporter(TestRequest(options_of(common), ids, strict, sample), began)
    settings, _ = read_settings(root)
    run = TestRun("test", root / settings.target_path, compiled.manifest)
    style = common.style
    with ending_well():
        code = run_pytest(
            root, settings, reporter, flags, quiet=style.quiet, color=style.color, silent=style.json
        )
    if sample is not None:
        return code, run.results_of(reporter.results, reporter.coverage)
    return code, run.store(reporter.results, reporter.coverage)
