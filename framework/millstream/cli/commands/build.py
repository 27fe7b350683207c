"""`millstream build`."""

from __future__ import annotations

import click
from msgspec import to_builtins

from millstream.cli.jobs import compiled_job
from millstream.cli.options import Choice, Common, choosing, common
from millstream.cli.output import finish, print_json, show
from millstream.cli.project import models_in, root_of


@click.command(
    "build",
    epilog=(
        "\b\nExamples:\n  millstream build\n  millstream build --select +daily_totals"
        "\n  millstream build --full-refresh --select daily_totals   # count anew"
        "\n  millstream build --target production --output json"
    ),
)
@common()
@choosing
@click.option("--full-refresh", is_flag=True, help="Forget state and tables, and read topics from the start.")
@click.option(
    "--accept-forward",
    is_flag=True,
    help="Go on where what happens to rows before a state changed: what it holds stays as it was counted.",
)
def command(common: Common, *, choice: Choice, full_refresh: bool, accept_forward: bool) -> int:
    """Run every model over what the topics hold now.

    Topics are created where they are missing; on the local target, empty source topics are filled from the
    generators of `seeds/`. What was built before goes on where it stopped. A failed model skips what
    reads it. The exit code is 1 if a model failed.
    """
    root = root_of(common)
    found, job, diagnostics = compiled_job(
        common, root, choice, full_refresh=full_refresh, accept_forward=accept_forward
    )
    if job is None:
        return finish(common.look, found.diagnostics, models=models_in(found))
    if not common.look.json:
        show(common.look, diagnostics, models_in(found))

    from millstream.cli.building import telling
    from millstream.cli.signals import ending_well
    from millstream.measured import with_counts
    from millstream.results import read_results, write_results
    from millstream.runner.build import build

    with ending_well(), telling(common.look) as told:
        results = build(job, root / ".millstream", told.tell)
    folder = root / job.project.settings.target_path
    before = read_results(folder, results.project, results.target)
    results = with_counts(results, before, job.topology.written)
    write_results(folder, results)
    problems = told.problems
    if common.look.json:
        from millstream.cli.diagnostics import as_data

        listed = [as_data(each) for each in (*diagnostics, *problems)]
        print_json({"diagnostics": listed} | to_builtins(results))
    else:
        told.summary(results)
    return 1 if results.failed else 0
