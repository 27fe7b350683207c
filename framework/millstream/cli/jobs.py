"""A project as a job of the runner: what `build`, `run` and `regroup` have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from millstream.cli.options import Changes, Choice, Common
from millstream.cli.project import chosen, compiled, failed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.errors import Diagnostic
    from millstream.manifest import Compiled
    from millstream.runner.values import Job


def compiled_job(
    common: Common, root: Path, choice: Choice, changes: Changes, *, tests: bool = True
) -> tuple[Compiled, Job | None, Sequence[Diagnostic]]:
    """Return a compiled project with the job that was asked for, none where it has errors.

    Without `tests`, no row stops a model because a data test finds it wrong.
    """
    found = compiled(common, root)
    if failed(found):
        return found, None, found.diagnostics
    models, told = _chosen(common, found, choice)
    asked = structs.replace(choice, select=changes.rebuild, exclude=(), selector=None)
    rebuild, more = _chosen(common, found, asked) if changes.rebuild else (frozenset(), ())
    every = {id_ for id_, node in found.manifest.nodes.items() if node.kind == "model"}
    job = _job(common, root, found, None if every <= models else models, rebuild, changes, tests=tests)
    return found, job, [*found.diagnostics, *told, *more]


def _chosen(common: Common, found: Compiled, choice: Choice) -> tuple[frozenset[str], Sequence[Diagnostic]]:
    _, selection = chosen(common, found, choice)
    nodes = found.manifest.nodes
    return frozenset(id_ for id_ in selection.ids if nodes[id_].kind == "model"), selection.diagnostics


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
    from millstream.project.load import load_project
    from millstream.results import read_results
    from millstream.runner.checkpoints import local_lock
    from millstream.runner.values import Job
    from millstream.tables.places import checkpoints_of
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
        full_refresh=changes.full_refresh,
        accept_forward=changes.accept_forward,
        rebuild=rebuild,
        regroup=changes.regroup,
        manifest=manifest_file(found),
    )
