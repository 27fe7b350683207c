"""`millstream build`."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import to_builtins

from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import (
    Changes,
    Choice,
    Common,
    TestChoice,
    changing,
    choosing,
    cli_command,
    testing,
)
from millstream.cli.output import print_json, show
from millstream.cli.project import models_in, root_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.errors import Diagnostic
    from millstream.manifest import Compiled
    from millstream.runner.values import Job


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
@testing
def command(common: Common, choice: Choice, changes: Changes, tests: TestChoice) -> int:
    """Run every model over what the topics hold now, with its unit tests before and its data tests after.

    Missing topics are created; on the local target, empty source topics are filled by the generators in
    `seeds/`. If a unit test fails, no model is built. Each query continues where it stopped. If a model
    fails, its data tests and the models that read it are skipped. Tests that passed before, and would do the
    same again, are not run again. The exit code is 1 if a model or a test failed.
    """
    return build_models(common, choice, changes, tests)


def build_models(common: Common, choice: Choice, changes: Changes, tests: TestChoice) -> int:
    root = root_of(common)
    compiled, job, diagnostics = compiled_job(common, root, choice, changes, tests=not tests.no_tests)
    if not common.style.json:
        show(common.style, diagnostics, models_in(compiled))
    return build_and_test(common, root, compiled, job, choice, diagnostics, tests)


def build_and_test(
    common: Common,
    root: Path,
    compiled: Compiled,
    job: Job,
    choice: Choice,
    diagnostics: Sequence[Diagnostic],
    tests: TestChoice,
) -> int:
    """Run a job and the data tests of what it built, and show the results."""
    from millstream.cli.build_progress import build_progress
    from millstream.cli.signals import ending_well
    from millstream.cli.tests_of_builds import TestsOfBuild
    from millstream.deployment.intents import Apply
    from millstream.measured import with_counts
    from millstream.results import read_results, write_results
    from millstream.runner.commands.build import build

    began = time.monotonic()
    with ending_well(), build_progress(common.style) as progress:
        tested = TestsOfBuild(common, compiled, job, choice, tests, progress)
        with closing(tested):
            results = build(job, root / ".millstream", progress.handle, tests=tested)
    folder = root / job.project.settings.target_path
    before = read_results(folder, results.project, results.target)
    results = with_counts(results, before, job.topology.written)
    write_results(folder, results)
    if common.style.json:
        from millstream.cli.diagnostics import as_data

        document = {"diagnostics": [as_data(each) for each in (*diagnostics, *progress.diagnostics)]}
        document |= to_builtins(results)
        document |= {"tests": to_builtins(tested.results)} if tested.results else {}
        document |= {"compared": to_builtins(progress.compared)} if isinstance(job.intent, Apply) else {}
        print_json(document)
    else:
        progress.print_summary(results, tested.results, time.monotonic() - began)
    return 1 if results.failed else tested.code
