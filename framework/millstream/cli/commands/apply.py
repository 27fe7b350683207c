"""`millstream apply`."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from millstream.cli.commands.build import build_and_test
from millstream.cli.deployment import plan_deployment, summarize_deployment
from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import (
    CommonOptions,
    SelectionRequest,
    StateOptions,
    TestOptions,
    accept_option,
    cli_command,
    test_options,
    waits,
)
from millstream.cli.output import ask_yes, make_console, print_result, show_diagnostics
from millstream.cli.project import models_in, root_of
from millstream.cli.review_output import format_review

if TYPE_CHECKING:
    from millstream.compile.manifest import Compiled
    from millstream.deploy.handover.channel import RunConnection
    from millstream.deploy.handover.values import DeployFinished
    from millstream.deploy.planning.intents import Apply
    from millstream.deploy.values import Job

_ALL = SelectionRequest()
_NO_TESTS = TestOptions(no_tests=True)


@cli_command(
    "apply",
    "millstream apply",
    "millstream apply --target production --yes",
    "millstream apply --rollback   # restore what the last apply replaced",
    kind=SeveralValues,
    environments=True,
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask before a rebuild.")
@accept_option
@click.option(
    "--accept-differences",
    is_flag=True,
    help="Swap although rows differ outside the edited columns.",
)
@click.option("--rollback", is_flag=True, help="Restore the versions that the last apply replaced.")
@test_options
@waits
def command(
    common: CommonOptions,
    changes: StateOptions,
    tests: TestOptions,
    *,
    yes: bool,
    accept_differences: bool,
    rollback: bool,
) -> int:
    """Deploy the project to a target, with a rollback.

    Queries continue if the signature next to their checkpoint allows it. The others are rebuilt from the
    start of their sources, alongside the running version. After the same records, the rows of both are
    compared in the columns that the edit does not touch; then the versions are swapped. All models are built,
    as by `build`. Replaced versions are kept until the next apply. If apply is killed at any moment, run it
    again to continue.

    If the project is running on this machine, it keeps running: rebuilt queries catch up alongside the
    running ones, and take over between two batches.
    """
    if rollback and (
        changes != StateOptions(wait=changes.wait) or accept_differences or tests != TestOptions()
    ):
        raise click.UsageError("--rollback takes no other option of apply than --yes and --wait")
    root = root_of(common)
    compiled, job, diagnostics = compiled_job(common, root, _ALL, changes, tests=not tests.no_tests)
    run = _run_of(root, job)
    if rollback:
        return _roll_back(common, root, job) if run is None else _ask(common, compiled, job, run)
    if not common.style.json:
        show_diagnostics(common.style, diagnostics, models_in(compiled))

    from millstream.deploy.planning.intents import Apply, accepted_by
    from millstream.review.deployment import untouched_columns

    deployment = plan_deployment(common, root, compiled, job)
    if not (common.style.json or common.style.quiet):
        _, text = format_review(deployment.review, "text", common.style.target)
        summary = summarize_deployment(deployment, common.style.target)
        make_console(common.style, sys.stderr).print(text, f"\n\n{summary}\n", sep="")
    if deployment.rebuilds and not yes and not ask_yes("Apply?"):
        return print_result(common.style, text="nothing was changed")
    began = time.monotonic()  # without the time for the answer
    intent = Apply(
        untouched_columns(deployment.review, compiled), accept_differences, accepted_by(job.intent)
    )
    job = structs.replace(job, intent=intent)
    if run is not None:
        return _ask(common, compiled, job, run, intent, tests)
    return build_and_test(common, root, compiled, job, _ALL, diagnostics, tests, began)


def _run_of(root: Path, job: Job) -> RunConnection | None:
    from millstream.deploy.handover.channel import run_of

    return run_of(job.project.target, root)


def _ask(
    common: CommonOptions,
    compiled: Compiled,
    job: Job,
    run: RunConnection,
    intent: Apply | None = None,
    tests: TestOptions = _NO_TESTS,
) -> int:
    """Let the run of the target deploy the project, or roll back the last apply without an `intent`."""
    from millstream.cli.build_progress import build_progress
    from millstream.cli.build_tests import TestsOfBuild
    from millstream.cli.signals import ending_well
    from millstream.core.encoding import to_builtins
    from millstream.deploy.handover.client import request_deploy
    from millstream.deploy.handover.version_loading import version_to_send

    version = version_to_send(
        job.project,
        job.manifest,
        common.vars,
        common.profiles_dir,
        tests=intent is None or not tests.no_tests,
    )
    result, text = {}, "a unit test failed: nothing was changed"
    with ending_well(), build_progress(common.style) as progress:
        tested = TestsOfBuild(common, compiled, job, _ALL, tests).show_on(progress)
        with closing(tested):
            if tested.before():
                finished = request_deploy(run, version, intent, progress.handle)
                result = {"running": to_builtins(finished)}
                text = _changes_text(finished, "Rolled back" if intent is None else "Applied")
                tested.test_rows()
    result |= {"tests": to_builtins(tested.results)} if tested.results else {}
    if intent is not None:
        result |= {"compared": to_builtins(progress.compared)}
    return print_result(common.style, result=result, text=None if common.style.quiet else text) or tested.code


def _changes_text(finished: DeployFinished, done: str) -> str:
    parts = [
        f"{word} {', '.join(names)}"
        for word, names in (
            ("replaced", finished.replaced),
            ("added", finished.added),
            ("removed", finished.removed),
        )
        if names
    ]
    return f"{done} while the project runs: {'; '.join(parts) or 'no query has changed'}."


def _roll_back(common: CommonOptions, root: Path, job: Job) -> int:
    from millstream.cli.build_progress import build_progress
    from millstream.cli.signals import ending_well
    from millstream.deploy.stages.roll_back import roll_back

    with ending_well(), build_progress(common.style) as progress:
        names = roll_back(job, root / ".millstream", progress.handle)
    result = {"rolled_back": names}
    text = "Rolled back. Check out the version that ran before, then build or run it."
    return print_result(common.style, result=result, text=None if common.style.quiet else text)
