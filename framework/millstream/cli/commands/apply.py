"""`millstream apply`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from millstream.cli.commands.build import carried_out
from millstream.cli.deployment import deployment_of, outcome
from millstream.cli.jobs import compiled_job
from millstream.cli.options import Changes, Choice, Common, common
from millstream.cli.output import console, finish, show
from millstream.cli.project import models_in, root_of
from millstream.cli.review_output import shown

if TYPE_CHECKING:
    from millstream.runner.values import Job

_ALL = Choice()


@click.command(
    "apply",
    epilog=(
        "\b\nExamples:\n  millstream apply\n  millstream apply --target production --yes"
        "\n  millstream apply --rollback   # restore what the last apply replaced"
    ),
)
@common()
@click.option("--yes", "-y", is_flag=True, help="Do not ask before a rebuild.")
@click.option(
    "--accept-forward",
    is_flag=True,
    help="Continue although upstream logic changed; keep existing state.",
)
@click.option(
    "--accept-differences",
    is_flag=True,
    help="Swap although rows differ outside the edited columns.",
)
@click.option("--rollback", is_flag=True, help="Restore the versions that the last apply replaced.")
@click.option("--no-tests", is_flag=True, help="Skip data tests, as `build --no-tests` does.")
def command(
    common: Common,
    *,
    yes: bool,
    accept_forward: bool,
    accept_differences: bool,
    rollback: bool,
    no_tests: bool,
) -> int:
    """Deploy the project to a target, with a rollback.

    Queries continue if the signature next to their checkpoint allows it. The others are rebuilt from the
    start of their sources, alongside the running version. After the same records, the rows of both are
    compared in the columns that the edit does not touch; then the versions are swapped. All models are built,
    as by `build`. Replaced versions are kept until the next apply. If apply is killed at any moment, run it
    again to continue. The project must not run meanwhile.
    """
    if rollback and (yes or accept_forward or accept_differences or no_tests):
        raise click.UsageError("--rollback takes no other option of apply")
    root = root_of(common)
    changes = Changes(accept_forward=accept_forward)
    found, job, diagnostics = compiled_job(common, root, _ALL, changes, tests=not no_tests)
    if job is None:
        return finish(common.look, found.diagnostics, models=models_in(found))
    if rollback:
        return _taken_back(common, root, job)
    if not common.look.json:
        show(common.look, diagnostics, models_in(found))

    from millstream.deployment.intents import Apply
    from millstream.review.deployment import untouched

    told = deployment_of(common, root, found, job, accept_forward=accept_forward)
    if not (common.look.json or common.look.quiet):
        _, text = shown(told.review, "text")
        console(common.look, sys.stderr).print(text, f"\n\n{outcome(told)}\n", sep="")
    if told.anew and not yes and not _agreed():
        return finish(common.look, text="nothing was changed")
    asked = Apply(untouched(told.review, found), accept_differences, accept_forward)
    job = structs.replace(job, intent=asked)
    return carried_out(common, root, found, job, _ALL, diagnostics, no_tests=no_tests)


def _agreed() -> bool:
    """Ask, where somebody is there to answer."""
    return not (sys.stdin.isatty() and sys.stderr.isatty()) or click.confirm("Apply?", err=True)


def _taken_back(common: Common, root: Path, job: Job) -> int:
    from millstream.cli.build_progress import telling
    from millstream.cli.signals import ending_well
    from millstream.runner.deployment.roll_back import roll_back

    with ending_well(), telling(common.look) as told:
        names = roll_back(job, root / ".millstream", told.tell)
    result = {"taken_back": names}
    text = "Taken back. Check out the version that ran before, and build or run it."
    return finish(common.look, result=result, text=None if common.look.quiet else text)
