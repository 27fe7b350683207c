"""`millstream build`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import Changes, Choice, Common, changing, choosing, common
from millstream.cli.output import finish, print_json, show
from millstream.cli.project import models_in, root_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.errors import Diagnostic
    from millstream.manifest import Compiled
    from millstream.results import RunResults
    from millstream.runner.values import Job
    from millstream.tested import TestResults


@click.command(
    "build",
    cls=SeveralValues,
    epilog=(
        "\b\nExamples:\n  millstream build\n  millstream build --select +daily_totals"
        "\n  millstream build --rebuild daily_totals+   # rebuild alongside the running version"
        "\n  millstream build --target production --output json"
    ),
)
@common()
@choosing
@changing
@click.option("--no-tests", is_flag=True, help="Skip data tests, both row checks and those of stored rows.")
def command(common: Common, choice: Choice, changes: Changes, *, no_tests: bool) -> int:
    """Run every model over what the topics hold now, then run their data tests.

    Missing topics are created; on the local target, empty source topics are filled by the generators in
    `seeds/`. Each query continues where it stopped. If a model fails, its tests and the models that read it
    are skipped. The exit code is 1 if a model or a test failed.
    """
    return built(common, choice, changes, no_tests=no_tests)


def built(common: Common, choice: Choice, changes: Changes, *, no_tests: bool) -> int:
    root = root_of(common)
    found, job, diagnostics = compiled_job(common, root, choice, changes, tests=not no_tests)
    if job is None:
        return finish(common.look, found.diagnostics, models=models_in(found))
    if not common.look.json:
        show(common.look, diagnostics, models_in(found))
    return carried_out(common, root, found, job, choice, diagnostics, no_tests=no_tests)


def carried_out(
    common: Common,
    root: Path,
    found: Compiled,
    job: Job,
    choice: Choice,
    diagnostics: Sequence[Diagnostic],
    *,
    no_tests: bool,
) -> int:
    """Build what a job asks for, then test what was built, and show how it ended."""
    from millstream.cli.build_progress import telling
    from millstream.cli.signals import ending_well
    from millstream.deployment.intents import Apply
    from millstream.measured import with_counts
    from millstream.results import read_results, write_results
    from millstream.runner.commands.build import build

    with ending_well(), telling(common.look) as told:
        results = build(job, root / ".millstream", told.tell)
    folder = root / job.project.settings.target_path
    before = read_results(folder, results.project, results.target)
    results = with_counts(results, before, job.topology.written)
    write_results(folder, results)
    problems = told.problems
    if not common.look.json:
        told.summary(results)
    code, tests = (0, None) if no_tests else _tested(common, root, found, choice, results)
    if common.look.json:
        from millstream.cli.diagnostics import as_data

        listed = [as_data(each) for each in (*diagnostics, *problems)]
        own = {"tests": to_builtins(tests.results)} if tests else {}
        own |= {"compared": to_builtins(told.compared)} if isinstance(job.intent, Apply) else {}
        print_json({"diagnostics": listed} | to_builtins(results) | own)
    return 1 if results.failed else code


def _tested(
    common: Common, root: Path, found: Compiled, choice: Choice, results: RunResults
) -> tuple[int, TestResults | None]:
    """Run the data tests of what was built; those of what failed, or was skipped, have nothing to ask."""
    from millstream.cli.testing import data_tests, run_tests

    bad = {each.id for each in results.results if each.status != "success"}
    ids = data_tests(common, found, choice, bad)
    return run_tests(common, root, found, ids) if ids else (0, None)
