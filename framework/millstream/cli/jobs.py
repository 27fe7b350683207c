"""A project as a job of the runner: what `build`, `run` and `regroup` have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from millstream.cli.options import Changes, Choice, Common
from millstream.cli.project import chosen, compiled, failed, nothing_chosen
from millstream.errors import Diagnostic, MillstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from millstream.deployment.intents import Intent
    from millstream.manifest import Compiled
    from millstream.runner.values import Job

_SHOWN = 8


def compiled_job(
    common: Common, root: Path, choice: Choice, changes: Changes, *, tests: bool = True
) -> tuple[Compiled, Job | None, Sequence[Diagnostic]]:
    """Return a compiled project with the job that was asked for, none where it has errors.

    Without `tests`, no row stops a model because a data test finds it wrong.
    """
    found = compiled(common, root)
    if failed(found):
        return found, None, found.diagnostics
    every = {id_ for id_, node in found.manifest.nodes.items() if node.kind == "model"}
    models, told = _chosen(common, found, choice) if every else (frozenset(), ())
    if every and not models:
        found = structs.replace(found, diagnostics=(*found.diagnostics, *told))
        return found, None, found.diagnostics
    asked = structs.replace(choice, select=changes.rebuild, exclude=(), selector=None)
    rebuild, more = _chosen(common, found, asked) if changes.rebuild else (frozenset(), ())
    job = _job(common, root, found, None if every <= models else models, rebuild, changes, tests=tests)
    return found, job, [*found.diagnostics, *told, *more, *_also_built(job)]


def _chosen(common: Common, found: Compiled, choice: Choice) -> tuple[frozenset[str], Sequence[Diagnostic]]:
    """Return the models of a selection, and warnings; refuse one that has none because of a mistake."""
    _, selection = chosen(common, found, choice)
    nodes = found.manifest.nodes
    models = frozenset(id_ for id_ in selection.ids if nodes[id_].kind == "model")
    if not models and (problems := nothing_chosen(choice, selection)):
        raise MillstreamError(*problems)
    return models, selection.diagnostics


def _also_built(job: Job) -> Iterator[Diagnostic]:
    """Yield a warning for each query that makes models which were not asked for."""
    from millstream.deployment.choosing import choose_queries

    if job.models is None:
        return
    for query in choose_queries(job.physical.queries, job.models):
        stored = [model for model in query.stored if model.startswith("model.")]
        asked, others = (
            [model.partition(".")[2] for model in stored if (model in (job.models or ())) is wanted]
            for wanted in (True, False)
        )
        if others:
            message = f"{_listed(others)} will be built, too: the query {query.name} makes {_listed(stored)}"
            remedy = (
                f"for a query of its own, set config(group='{(asked or others)[0]}') in the model, or "
                "`grouping: off` for the target; that query begins at the start of its sources"
            )
            yield Diagnostic("MS611", message, None, remedy, severity="warning")


def _listed(models: Sequence[str]) -> str:
    names = [f"'{model.removeprefix('model.')}'" for model in models[:_SHOWN]]
    names += [f"{len(models) - _SHOWN} more"] if len(models) > _SHOWN else []
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _job(
    common: Common,
    root: Path,
    found: Compiled,
    models: frozenset[str] | None,
    rebuild: frozenset[str],
    changes: Changes,
    *,
    tests: bool,
) -> Job:
    from millstream.artifacts import manifest_file
    from millstream.project.folders import checkpoints_of
    from millstream.project.load import load_project
    from millstream.results import read_results
    from millstream.runner.checkpoints.files import local_lock
    from millstream.runner.values import Job
    from millstream.topology import compiled_topology, physical_of

    project = load_project(root, common.target, common.vars, common.profiles_dir)
    before = read_results(root / project.settings.target_path, project.settings.name, project.target.name)
    topology = compiled_topology(found, before, tests=tests)
    lock = None if changes.regroup else local_lock(checkpoints_of(project.target, root))
    return Job(
        project,
        topology,
        physical_of(topology, lock),
        lock,
        models,
        intent=_intent(changes, rebuild),
        manifest=manifest_file(found),
    )


def _intent(changes: Changes, rebuild: frozenset[str]) -> Intent:
    from millstream.deployment.intents import FullRefresh, Regroup, Update

    if changes.full_refresh:
        return FullRefresh()
    return Regroup() if changes.regroup else Update(rebuild, changes.accept_forward)
