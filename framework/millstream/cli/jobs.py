"""A project as a job of the runner: what `build` and `run` have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from millstream.cli.options import Choice, Common
from millstream.cli.project import chosen, compiled, failed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.errors import Diagnostic
    from millstream.manifest import Compiled
    from millstream.runner.values import Job


def compiled_job(
    common: Common, root: Path, choice: Choice, *, full_refresh: bool, accept_forward: bool
) -> tuple[Compiled, Job | None, Sequence[Diagnostic]]:
    """Return a compiled project with the job that was asked for, none where it has errors."""
    found = compiled(common, root)
    if failed(found):
        return found, None, found.diagnostics
    _, selection = chosen(common, found, choice)
    models = {id_ for id_, node in found.manifest.nodes.items() if node.kind == "model"}
    ids = None if models <= set(selection.ids) else frozenset(models.intersection(selection.ids))
    job = _job(common, root, found, ids, full_refresh=full_refresh, accept_forward=accept_forward)
    return found, job, [*found.diagnostics, *selection.diagnostics]


def _job(
    common: Common,
    root: Path,
    found: Compiled,
    models: frozenset[str] | None,
    *,
    full_refresh: bool,
    accept_forward: bool,
) -> Job:
    from millstream.project.load import load_project
    from millstream.results import read_results
    from millstream.runner.checkpoints import local_lock
    from millstream.runner.values import Job
    from millstream.tables.places import checkpoints_of
    from millstream.topology import compiled_topology, physical_of

    project = load_project(root, common.target, common.vars, common.profiles_dir)
    before = read_results(root / project.settings.target_path, project.settings.name, project.target.name)
    topology = compiled_topology(found, before)
    physical = physical_of(topology, local_lock(checkpoints_of(project.target, root)))
    return Job(project, topology, physical, models, full_refresh, accept_forward)
