"""`millstream build`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import Changes, Choice, Common, changing, choosing, cli_command
from millstream.cli.output import print_json, show
from millstream.cli.project import models_in, root_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from millstream.errors import Diagnostic
    from millstream.manifest import Compiled, ManifestNode
    from millstream.results import RunResults
    from millstream.runner.values import Job
    from millstream.tested import TestResults


@cli_command(
    "build",
    "millstream build",
    "millstream build --select +daily_totals",
    "millstream build --rebuild daily_totals+   # rebuild alongside the running version",
    "millstream build --target production --output json",
    kind=SeveralValues,
    environments=True,
)
@choosing
@changing
@click.option("--no-tests", is_flag=True, help="Skip data tests, both row checks and those of stored rows.")
def command(common: Common, choice: Choice, changes: Changes, *, no_tests: bool) -> int:
    """Run every model over what the topics hold now, then run their data tests.

    Missing topics are created; on the local target, empty source topics are filled by the generators in
    `seeds/`. Each query continues where it stopped. If a model fails, its tests and the models that read it
    are skipped. The exit code is 1 if a model or a test failed.
    """
    return build_models(common, choice, changes, no_tests=no_tests)


def build_models(common: Common, choice: Choice, changes: Changes, *, no_tests: bool) -> int:
    root = root_of(common)
    compiled, job, diagnostics = compiled_job(common, root, choice, changes, tests=not no_tests)
    if not common.style.json:
        show(common.style, diagnostics, models_in(compiled))
    return build_and_test(common, root, compiled, job, choice, diagnostics, no_tests=no_tests)


def build_and_test(
    common: Common,
    root: Path,
    compiled: Compiled,
    job: Job,
    choice: Choice,
    diagnostics: Sequence[Diagnostic],
    *,
    no_tests: bool,
) -> int:
    """Run a job and the data tests of what it built, and show the results."""
    from millstream.cli.build_progress import build_progress
    from millstream.cli.signals import ending_well
    from millstream.deployment.intents import Apply
    from millstream.measured import with_counts
    from millstream.results import read_results, write_results
    from millstream.runner.commands.build import build

    with ending_well(), build_progress(common.style) as progress:
        results = build(job, root / ".millstream", progress.handle)
    folder = root / job.project.settings.target_path
    before = read_results(folder, results.project, results.target)
    results = with_counts(results, before, job.topology.written)
    write_results(folder, results)
    if not common.style.json:
        progress.print_summary(results)
    code, tests = (0, None) if no_tests else _run_data_tests(common, root, compiled, choice, results)
    if common.style.json:
        from millstream.cli.diagnostics import as_data

        document = {"diagnostics": [as_data(each) for each in (*diagnostics, *progress.diagnostics)]}
        document |= to_builtins(results)
        document |= {"tests": to_builtins(tests.results)} if tests else {}
        document |= {"compared": to_builtins(progress.compared)} if isinstance(job.intent, Apply) else {}
        print_json(document)
    return 1 if results.failed else code


def _only_reads_production(nodes: Mapping[str, ManifestNode], relations: Iterable[str]) -> bool:
    tested = [nodes[id_] for id_ in relations if id_ in nodes and nodes[id_].kind == "model"]
    return bool(tested) and all(node.deferred for node in tested)


def _run_data_tests(
    common: Common, root: Path, compiled: Compiled, choice: Choice, results: RunResults
) -> tuple[int, TestResults | None]:
    """Run the data tests that read only models that were built."""
    from millstream.cli.testing import data_tests, run_tests

    not_built = {each.id for each in results.results if each.status != "success"}
    ids = data_tests(common, compiled, choice, not_built)
    nodes = compiled.manifest.nodes
    # In an environment, production's rows are tested in production.
    ids = frozenset(id_ for id_ in ids if not _only_reads_production(nodes, nodes[id_].depends_on))
    return run_tests(common, root, compiled, ids) if ids else (0, None)
