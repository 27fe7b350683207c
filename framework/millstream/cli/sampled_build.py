"""`build --sample` and `build --empty`: models and tests over a sample, without writing anything."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from millstream.cli.build_progress import BuildProgress, build_progress
from millstream.cli.diagnostics import as_data, count_of
from millstream.cli.options import CommonOptions, RangeOptions, SelectionRequest, StateOptions, TestOptions
from millstream.cli.output import print_json, say_parts, show_diagnostics
from millstream.cli.project import compile_valid, models_in, select_existing
from millstream.cli.test_runs import options_of
from millstream.compile.graph import build_graph
from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.results.test_results import TestResult
from millstream.testing.build_tests import run_nodes
from millstream.testing.session import TestSession

if TYPE_CHECKING:
    from millstream.compile.manifest import ManifestNode


class ComputedModel(Struct, frozen=True):
    """A model over a sample."""

    id: NodeId
    rows: int
    """How many rows it has."""
    seconds: float
    diagnostics: tuple[Diagnostic, ...] = ()
    """Why it could not be computed."""

    def as_data(self, common: CommonOptions) -> dict[str, Any]:
        diagnostics = [as_data(diagnostic, common.style.target) for diagnostic in self.diagnostics]
        return {"id": str(self.id), "rows": self.rows, "seconds": self.seconds, "diagnostics": diagnostics}


def build_sample(
    common: CommonOptions, root: Path, request: SelectionRequest, tests: TestOptions, most: int
) -> int:
    """Run unit tests, compute the selected models, and run data tests on their rows."""
    from millstream.cli.signals import ending_well

    began = time.monotonic()
    compiled = compile_valid(common, root)
    selection = select_existing(common, compiled, request, with_tests=True)
    diagnostics = [*compiled.diagnostics, *selection.diagnostics]
    if not common.style.json:
        show_diagnostics(common.style, diagnostics, models_in(compiled))
    graph, nodes = build_graph(compiled.manifest.nodes), compiled.manifest.nodes
    models = [id_ for id_ in graph.order if id_ in selection.ids and id_.kind == "model"]
    chosen = [nodes[id_] for id_ in sorted(selection.ids)]
    with (
        ending_well(),
        build_progress(common.style) as progress,
        closing(TestSession(root, options_of(common), sample=most)) as session,
    ):
        results = [] if tests.no_tests or tests.no_unit else _tested(session, chosen, "unit_test", progress)
        computed = [] if _code(results, []) else [_computed(session, model, progress) for model in models]
        # Without rows, tests of how many there are would fail.
        if most and not (tests.no_tests or _code(results, computed)):
            results += _tested(session, chosen, "test", progress)
    _print(common, diagnostics, results, computed, most, time.monotonic() - began)
    return _code(results, computed)


def check_options(changes: StateOptions, part: RangeOptions) -> None:
    """Raise for options about what is stored."""
    options = {
        "--rebuild": changes.rebuild, "--full-refresh": changes.full_refresh, "--from": part.requested,
        "--accept": changes.accept or changes.accept_forward,
    }  # fmt: skip
    for option, value in options.items():
        if value:
            message = f"--sample and --empty write nothing: leave out {option}"
            raise click.UsageError(message)


def _tested(
    session: TestSession, nodes: list[ManifestNode], kind: str, progress: BuildProgress
) -> list[TestResult]:
    chosen = [node for node in nodes if node.kind == kind]
    if not chosen:
        return []
    with progress.testing("unit test" if kind == "unit_test" else "data test", len(chosen)) as show:
        return run_nodes(session, chosen, show)


def _computed(session: TestSession, model: NodeId, progress: BuildProgress) -> ComputedModel:
    began = time.monotonic()
    try:
        rows = len(session.sampling.rows(session.spark(), model, None).rows)
    except MillstreamError as error:
        result = ComputedModel(model, 0, time.monotonic() - began, tuple(error.diagnostics))
    else:
        result = ComputedModel(model, rows, time.monotonic() - began)
    progress.show_computed(model.shown_name, count_of(result.rows, "row"), result.seconds, result.diagnostics)
    return result


def _code(results: list[TestResult], computed: list[ComputedModel]) -> int:
    """Return the exit code: 2 if a test is itself wrong."""
    statuses = {result.status for result in results}
    failed = "fail" in statuses or any(model.diagnostics for model in computed)
    return 2 if "error" in statuses else int(failed)


def _print(
    common: CommonOptions,
    diagnostics: list[Diagnostic],
    results: list[TestResult],
    computed: list[ComputedModel],
    most: int,
    seconds: float,
) -> None:
    if common.style.json:
        print_json(
            {
                "diagnostics": [as_data(diagnostic, common.style.target) for diagnostic in diagnostics],
                "sample": most,
                "models": [model.as_data(common) for model in computed],
                "tests": to_builtins(results),
            }
        )
        return
    if common.style.quiet:
        return
    failed = sum(bool(model.diagnostics) for model in computed)
    passed = sum(result.status == "pass" for result in results)
    wrong = sum(result.status in {"fail", "error"} for result in results)
    sample = f"{most:,} records of each input" if most else "no rows"
    counts = [f"{count_of(len(computed) - failed, 'model')} computed from {sample}"]
    counts += [f"{failed} failed"] if failed else []
    counts += [f"{count_of(passed, 'test')} passed"] if passed else []
    counts += [f"{count_of(wrong, 'test')} failed"] if wrong else []
    line = f"{'; '.join(counts)}; nothing was written; {seconds:.1f} s"
    say_parts(common.style, [(line, "bold red" if failed or wrong else "bold green")], sys.stderr)
