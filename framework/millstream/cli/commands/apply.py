"""`millstream apply`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from millstream.cli.commands.build import build_and_test
from millstream.cli.deployment import plan_deployment, summarize
from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import Changes, Choice, Common, accepting, cli_command, waits
from millstream.cli.output import confirmed, console, finish, show
from millstream.cli.project import models_in, root_of
from millstream.cli.review_output import shown

if TYPE_CHECKING:
    from millstream.runner.values import Job

_ALL = Choice()


@cli_command(
    "apply",
    "millstream apply",
    "millstream apply --target production --yes",
    "millstream apply --rollback   # restore what the last apply replaced",
    kind=SeveralValues,
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask before a rebuild.")
@accepting
@click.option(
    "--accept-differences",
    is_flag=True,
    help="Swap although rows differ outside the edited columns.",
)
@click.option("--rollback", is_flag=True, help="Restore the versions that the last apply replaced.")
@click.option("--no-tests", is_flag=True, help="Skip data tests, as `build --no-tests` does.")
@waits
def command(
    common: Common,
    changes: Changes,
    *,
    yes: bool,
    accept_differences: bool,
    rollback: bool,
    no_tests: bool,
    wait: bool,
) -> int:
    """Deploy the project to a target, with a rollback.

    Queries continue if the signature next to their checkpoint allows it. The others are rebuilt from the
    start of their sources, alongside the running version. After the same records, the rows of both are
    compared in the columns that the edit does not touch; then the versions are swapped. All models are built,
    as by `build`. Replaced versions are kept until the next apply. If apply is killed at any moment, run it
    again to continue. The project must not run meanwhile.
    """
    if rollback and (yes or changes != Changes() or accept_differences or no_tests):
        raise click.UsageError("--rollback takes no other option of apply")
    root = root_of(common)
    changes = structs.replace(changes, wait=wait)
    compiled, job, diagnostics = compiled_job(common, root, _ALL, changes, tests=not no_tests)
    if rollback:
        return _roll_back(common, root, job)
    if not common.style.json:
        show(common.style, diagnostics, models_in(compiled))

    from millstream.deployment.intents import Apply, accepted_by
    from millstream.review.deployment import untouched

    deployment = plan_deployment(common, root, compiled, job)
    if not (common.style.json or common.style.quiet):
        _, text = shown(deployment.review, "text")
        console(common.style, sys.stderr).print(text, f"\n\n{summarize(deployment)}\n", sep="")
    if deployment.rebuilds and not yes and not confirmed("Apply?"):
        return finish(common.style, text="nothing was changed")
    intent = Apply(untouched(deployment.review, compiled), accept_differences, accepted_by(job.intent))
    job = structs.replace(job, intent=intent)
    return build_and_test(common, root, compiled, job, _ALL, diagnostics, no_tests=no_tests)


def _roll_back(common: Common, root: Path, job: Job) -> int:
    from millstream.cli.build_progress import build_progress
    from millstream.cli.signals import ending_well
    from millstream.runner.deployment.roll_back import roll_back

    with ending_well(), build_progress(common.style) as progress:
        names = roll_back(job, root / ".millstream", progress.handle)
    result = {"rolled_back": names}
    text = "Rolled back. Check out the version that ran before, then build or run it."
    return finish(common.style, result=result, text=None if common.style.quiet else text)
