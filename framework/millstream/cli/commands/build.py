"""`millstream build`."""

from __future__ import annotations

import click
from msgspec import to_builtins

from millstream.cli.jobs import compiled_job
from millstream.cli.options import Changes, Choice, Common, changing, choosing, common
from millstream.cli.output import finish, print_json, show
from millstream.cli.project import models_in, root_of


@click.command(
    "build",
    epilog=(
        "\b\nExamples:\n  millstream build\n  millstream build --select +daily_totals"
        "\n  millstream build --rebuild daily_totals+   # count anew, beside what is there"
        "\n  millstream build --target production --output json"
    ),
)
@common()
@choosing
@changing
def command(common: Common, choice: Choice, changes: Changes) -> int:
    """Run every model over what the topics hold now.

    Topics are created where they are missing; on the local target, empty source topics are filled from the
    generators of `seeds/`. What was built before goes on where it stopped. A failed model skips what
    reads it. The exit code is 1 if a model failed.
    """
    return built(common, choice, changes)


def built(common: Common, choice: Choice, changes: Changes) -> int:
    root = root_of(common)
    found, job, diagnostics = compiled_job(common, root, choice, changes)
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
