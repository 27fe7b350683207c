"""`millstream build`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import (
    CommonOptions,
    RangeOptions,
    SampleOptions,
    SelectionRequest,
    StateOptions,
    TestOptions,
    cli_command,
    range_options,
    sample_options,
    selection_options,
    state_options,
    test_options,
)
from millstream.cli.output import print_json, print_result, say_parts, show_diagnostics
from millstream.cli.project import models_in, root_of
from millstream.core.encoding import to_builtins

if TYPE_CHECKING:
    from millstream.cli.build_tests import TestsOfBuild
    from millstream.compile.manifest import Compiled
    from millstream.core.errors import Diagnostic
    from millstream.deploy.handover.channel import RunConnection
    from millstream.deploy.values import Job, RangeReplaced, TableCompared
    from millstream.results.run_results import RunResults


@cli_command(
    "build",
    "millstream build",
    "millstream build --select +daily_totals",
    "millstream build --rebuild daily_totals+   # rebuild alongside the running version",
    "millstream build --select clean_orders --from 2026-01-01 --to 2026-01-02   # compute a day again",
    "millstream build --sample 1000    # compute and test a sample; nothing is written",
    "millstream build --target production --output json",
    kind=SeveralValues,
    environments=True,
)
@selection_options
@state_options
@range_options
@test_options
@sample_options
def command(
    common: CommonOptions,
    request: SelectionRequest,
    changes: StateOptions,
    part: RangeOptions,
    tests: TestOptions,
    sampled: SampleOptions,
) -> int:
    """Run every model over what the topics hold now, with its unit tests before and its data tests after.

    Missing topics are created; on the local target, empty source topics are filled by the generators in
    `seeds/`. If a unit test fails, no model is built. Each query continues where it stopped. If a model
    fails, its data tests and the models that read it are skipped. Tests that passed before, and would do the
    same again, are not run again. The exit code is 1 if a model or a test failed.

    With --sample or --empty, models are only computed and tested: topics, tables and checkpoints are neither
    written nor created.
    """
    if (most := sampled.most) is not None:
        from millstream.cli.sampled_build import build_sample, check_options

        check_options(changes, part)
        return build_sample(common, root_of(common), request, tests, most)
    return build_models(common, request, changes, tests, part)


def build_models(
    common: CommonOptions,
    request: SelectionRequest,
    changes: StateOptions,
    tests: TestOptions,
    part: RangeOptions | None = None,
) -> int:
    began, root = time.monotonic(), root_of(common)
    compiled, job, diagnostics = compiled_job(
        common, root, request, changes, tests=not tests.no_tests, part=part
    )
    if not common.style.json:
        show_diagnostics(common.style, diagnostics, models_in(compiled))
    if part is not None and part.requested:
        from millstream.deploy.handover.channel import run_of

        if (run := run_of(job.project.target, root)) is not None:
            return _replace_in_run(common, compiled, job, request, diagnostics, tests, run)
    return build_and_test(common, root, compiled, job, request, diagnostics, tests, began)


def build_and_test(
    common: CommonOptions,
    root: Path,
    compiled: Compiled,
    job: Job,
    request: SelectionRequest,
    diagnostics: Sequence[Diagnostic],
    tests: TestOptions,
    began: float,
) -> int:
    """Run a job and the data tests of what it built, and show the results."""
    from millstream.cli.build_summary import format_build_summary, phase_seconds
    from millstream.cli.build_tests import TestsOfBuild
    from millstream.cli.signals import ending_well
    from millstream.deploy.planning.intents import Apply
    from millstream.results.run_results import read_results, write_results
    from millstream.results.selectivity import with_counts

    with ending_well(), closing(TestsOfBuild(common, compiled, job, request, tests)) as tested:
        built = _built(common, job, root, tested)
    folder = root / job.project.settings.target_path
    before = read_results(folder, built.results.project, built.results.target)
    results = with_counts(built.results, before, job.topology.written)
    write_results(folder, results)
    if common.style.json:
        from millstream.cli.diagnostics import as_data

        document = {
            "diagnostics": [
                as_data(diagnostic, common.style.target) for diagnostic in (*diagnostics, *built.diagnostics)
            ]
        }
        document |= to_builtins(results)
        document |= {"tests": to_builtins(tested.results)} if tested.results else {}
        document |= {"compared": to_builtins(built.compared)} if isinstance(job.intent, Apply) else {}
        document |= {"replaced": to_builtins(built.replaced)} if built.replaced else {}
        print_json(document)
    elif not common.style.quiet:
        seconds = time.monotonic() - began
        line = format_build_summary(
            results,
            tested.results,
            seconds,
            up_to_date=built.up_to_date,
            phases=phase_seconds(began, tested.ends, seconds),
        )
        say_parts(common.style, [line], sys.stderr)
    return 1 if results.failed else tested.code


def _replace_in_run(
    common: CommonOptions,
    compiled: Compiled,
    job: Job,
    request: SelectionRequest,
    diagnostics: Sequence[Diagnostic],
    tests: TestOptions,
    run: RunConnection,
) -> int:
    """Let the run of the target compute ranges again, and test the tables."""
    from millstream.cli.build_progress import build_progress
    from millstream.cli.build_tests import TestsOfBuild
    from millstream.cli.signals import ending_well
    from millstream.deploy.handover.client import request_ranges
    from millstream.deploy.planning.intents import Update

    assert isinstance(job.intent, Update)
    with ending_well(), build_progress(common.style) as progress:
        tested = TestsOfBuild(common, compiled, job, request, tests).show_on(progress)
        with closing(tested):
            if tested.before():
                request_ranges(run, job.manifest, job.intent, progress.handle)
                tested.test_rows()
    result = {"replaced": to_builtins(progress.replaced)}
    result |= {"tests": to_builtins(tested.results)} if tested.results else {}
    shown = diagnostics if common.style.json else ()  # the text shows them already
    return print_result(common.style, shown, result=result) or tested.code


class _Built(Struct, frozen=True):
    results: RunResults
    diagnostics: Sequence[Diagnostic] = ()
    compared: Sequence[TableCompared] = ()
    replaced: Sequence[RangeReplaced] = ()
    up_to_date: bool = False


def _built(common: CommonOptions, job: Job, root: Path, tested: TestsOfBuild) -> _Built:
    """Build, if there is something to do; if not, neither Spark nor rich is imported."""
    from millstream.runner.commands.up_to_date import results_if_up_to_date

    results = results_if_up_to_date(job, root / ".millstream")
    if results is not None and tested.all_passed_before():
        return _Built(results, up_to_date=True)

    from millstream.cli.build_progress import build_progress
    from millstream.runner.commands.build import build_models

    with build_progress(common.style) as progress:
        tested.show_on(progress)
        if results is None:
            results = build_models(job, root / ".millstream", progress.handle, tests=tested)
            return _Built(results, progress.diagnostics, progress.compared, progress.replaced)
        if tested.before():
            tested.after(results)
        return _Built(results, up_to_date=True)
