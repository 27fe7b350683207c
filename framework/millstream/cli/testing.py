"""Selects and runs tests for the commands `test` and `build`."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from millstream.cli.options import Choice, Common
from millstream.cli.project import empty_selection_errors, select_nodes
from millstream.errors import Diagnostic, MillstreamError
from millstream.project.settings import read_settings

if TYPE_CHECKING:
    from millstream.manifest import Compiled
    from millstream.project.values import Project, Settings
    from millstream.tested import ModelCoverage, TestResult, TestResults


def selected(
    common: Common, compiled: Compiled, choice: Choice, *, unit: bool, data: bool
) -> tuple[frozenset[str] | None, list[Diagnostic]]:
    """Return the selected tests; None means all, including those in Python."""
    if choice.everything and unit == data:
        return None, []
    selection = select_nodes(common, compiled, choice, with_tests=True)
    if not selection.ids and (problems := empty_selection_errors(choice, selection)):
        raise MillstreamError(*problems)
    kinds = {"unit_test"} if unit and not data else {"test"} if data and not unit else {"unit_test", "test"}
    nodes = compiled.manifest.nodes
    return frozenset(id_ for id_ in selection.ids if nodes[id_].kind in kinds), list(selection.diagnostics)


def data_tests(
    common: Common, compiled: Compiled, choice: Choice, without: Collection[str]
) -> frozenset[str]:
    """Return the selected data tests, except those that read a relation in `without`."""
    selection = select_nodes(common, compiled, choice, with_tests=True)
    nodes = compiled.manifest.nodes
    return frozenset(
        id_
        for id_ in selection.ids
        if nodes[id_].kind == "test" and not set(nodes[id_].depends_on).intersection(without)
    )


def run_tests(
    common: Common,
    root: Path,
    compiled: Compiled,
    ids: frozenset[str] | None,
    flags: Sequence[str] = (),
    *,
    strict: bool = False,
    unchanged: Sequence[TestResult] = (),
    contents: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, TestResults]:
    """Run tests, write their results, and return the exit code and the results.

    `unchanged` are tests that need not run again; `contents` digests of what data tests read.
    """
    from millstream import __version__
    from millstream.tested import TestResults, read_test_results, with_earlier_results, write_test_results

    began, now = time.monotonic(), datetime.now(timezone.utc)
    manifest, started = compiled.manifest, now.isoformat(timespec="seconds")
    settings, _ = read_settings(root)
    nothing = ids is not None and not ids
    ran = _Ran() if nothing else _run_pytest(common, root, settings, ids, flags, strict=strict)
    results = TestResults(
        "test",
        manifest.project,
        manifest.target,
        started,
        round(time.monotonic() - began, 3),
        (*unchanged, *(replace(r, ran=started, contents=contents.get(r.id, "")) for r in ran.results)),
        ran.coverage,
        __version__,
    )
    folder = root / settings.target_path
    before = read_test_results(folder, manifest.project, manifest.target)
    write_test_results(folder, with_earlier_results(results, before, manifest.nodes))
    return ran.code, results


class _Ran(NamedTuple):
    code: int = 0
    results: Sequence[TestResult] = ()
    coverage: tuple[ModelCoverage, ...] = ()


def _run_pytest(
    common: Common,
    root: Path,
    settings: Settings,
    ids: frozenset[str] | None,
    flags: Sequence[str],
    *,
    strict: bool,
) -> _Ran:
    from millstream.cli.signals import ending_well
    from millstream.testing.plugin.project_tests import TestRequest
    from millstream.testing.plugin.run import Reporter, run_pytest
    from millstream.testing.variants import Options

    profiles = str(common.profiles_dir) if common.profiles_dir else None
    options, style = Options(common.target, common.vars, profiles, common.environment), common.style
    reporter = Reporter(TestRequest(options, ids, strict))
    with ending_well():
        code = run_pytest(
            root, settings, reporter, flags, quiet=style.quiet, color=style.color, silent=style.json
        )
    return _Ran(code, reporter.results, reporter.coverage)


def unchanged_tests(project: Project, compiled: Compiled, contents: Mapping[str, str]) -> list[TestResult]:
    """Return the data tests that passed over what they would read again."""
    from millstream.tested import read_test_results

    folder = Path(project.root) / project.settings.target_path
    before = read_test_results(folder, compiled.manifest.project, compiled.manifest.target)
    if before is None:
        return []
    passed = (each for each in (*before.earlier, *before.results) if each.status == "pass" and each.contents)
    return [replace(each, unchanged=True) for each in passed if contents.get(each.id) == each.contents]
