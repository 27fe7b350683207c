"""`millstream build`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import (
    Changes,
    Choice,
    Common,
    DataTestChoice,
    changing,
    choosing,
    cli_command,
    testing,
)
from millstream.cli.output import print_json, say, say_parts, show
from millstream.cli.project import models_in, root_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from millstream.errors import Diagnostic
    from millstream.manifest import Compiled, ManifestNode
    from millstream.results import RunResults
    from millstream.runner.values import Compared, Job
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
@testing
def command(common: Common, choice: Choice, changes: Changes, tests: DataTestChoice) -> int:
    """Run every model over what the topics hold now, then run their data tests.

    Missing topics are created; on the local target, empty source topics are filled by the generators in
    `seeds/`. Each query continues where it stopped. Data tests that passed over the same rows before are not
    run again. If a model fails, its tests and the models that read it are skipped. The exit code is 1 if a
    model or a test failed.
    """
    return build_models(common, choice, changes, tests)


def build_models(common: Common, choice: Choice, changes: Changes, tests: DataTestChoice) -> int:
    root = root_of(common)
    compiled, job, diagnostics = compiled_job(common, root, choice, changes, tests=tests != "none")
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
    tests: DataTestChoice,
) -> int:
    """Run a job and the data tests of what it built, and show the results."""
    from millstream.cli.signals import ending_well
    from millstream.deployment.intents import Apply
    from millstream.measured import with_counts
    from millstream.results import read_results, write_results

    with ending_well():
        built = _up_to_date(common, job, root) or _built(common, job, root)
    folder = root / job.project.settings.target_path
    before = read_results(folder, built.results.project, built.results.target)
    results = with_counts(built.results, before, job.topology.written)
    write_results(folder, results)
    if not common.style.json:
        built.print_summary(results)
    code, tested = _run_data_tests(common, compiled, job, choice, tests, results)
    if common.style.json:
        from millstream.cli.diagnostics import as_data

        document = {"diagnostics": [as_data(each) for each in (*diagnostics, *built.diagnostics)]}
        document |= to_builtins(results)
        document |= {"tests": to_builtins(tested.results)} if tested else {}
        document |= {"compared": to_builtins(built.compared)} if isinstance(job.intent, Apply) else {}
        print_json(document)
    return 1 if results.failed else code


class _Built(Struct, frozen=True):
    results: RunResults
    print_summary: Callable[[RunResults], None]
    diagnostics: Sequence[Diagnostic] = ()
    compared: Sequence[Compared] = ()


def _up_to_date(common: Common, job: Job, root: Path) -> _Built | None:
    """Return what a build that has nothing to do did, for which neither Spark nor rich is imported."""
    from millstream.runner.commands.up_to_date import results_if_up_to_date

    results = results_if_up_to_date(job, root / ".millstream")
    return None if results is None else _Built(results, partial(_print_up_to_date, common))


def _print_up_to_date(common: Common, results: RunResults) -> None:
    from millstream.cli.diagnostics import count

    models = sum(each.id.startswith("model.") for each in results.results)
    if models and not common.style.quiet:
        text = f"{count(models, 'model')} up to date: nothing is new, and nothing changed"
        say_parts(common.style, [(text, "bold green")], sys.stderr)


def _built(common: Common, job: Job, root: Path) -> _Built:
    from millstream.cli.build_progress import build_progress
    from millstream.runner.commands.build import build

    with build_progress(common.style) as progress:
        results = build(job, root / ".millstream", progress.handle)
    return _Built(results, progress.print_summary, progress.diagnostics, progress.compared)


def _only_reads_production(nodes: Mapping[str, ManifestNode], relations: Iterable[str]) -> bool:
    tested = [nodes[id_] for id_ in relations if id_ in nodes and nodes[id_].kind == "model"]
    return bool(tested) and all(node.deferred for node in tested)


def _run_data_tests(
    common: Common,
    compiled: Compiled,
    job: Job,
    choice: Choice,
    tests: DataTestChoice,
    results: RunResults,
) -> tuple[int, TestResults | None]:
    """Run the data tests that read only models that were built."""
    from millstream.cli.diagnostics import count
    from millstream.cli.testing import data_tests, run_tests, unchanged_tests
    from millstream.testing.data.contents import contents_of

    if tests == "none":
        return 0, None
    not_built = {each.id for each in results.results if each.status != "success"}
    ids = data_tests(common, compiled, choice, not_built)
    nodes = compiled.manifest.nodes
    # In an environment, production's rows are tested in production.
    ids = frozenset(id_ for id_ in ids if not _only_reads_production(nodes, nodes[id_].depends_on))
    if not ids:
        return 0, None
    contents = contents_of(job.project, compiled, ids)
    unchanged = unchanged_tests(job.project, compiled, contents) if tests == "changed" else []
    if unchanged and not (common.style.json or common.style.quiet):
        say(
            common.style,
            f"{count(len(unchanged), 'data test')} not run again: passed over the same rows",
            sys.stdout,
        )
    ids -= {each.id for each in unchanged}
    return run_tests(common, Path(job.project.root), compiled, ids, unchanged=unchanged, contents=contents)
