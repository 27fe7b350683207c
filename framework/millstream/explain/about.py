"""Collects what an explanation shows besides plans from a compiled project."""

from __future__ import annotations

from pathlib import Path

from millstream.explain.explanation import About
from millstream.explain.figures import figures
from millstream.explain.opaque import unsupported
from millstream.explain.queries import explain_query, explain_separation
from millstream.manifest import Compiled
from millstream.measured import with_measured
from millstream.native.obstacles import obstacles
from millstream.physical.plan import Physical
from millstream.topology import Topology, hints_of


def about_of(
    compiled: Compiled,
    topology: Topology,
    physical: Physical,
    target_path: str,
    root: Path,
    ids: tuple[str, ...] | None = None,
) -> About:
    """Return the facts about the models with these ids; None: about all."""
    declared = hints_of(topology.catalog)
    return About(
        project=compiled.manifest.project,
        target=compiled.manifest.target,
        models=ids or (),
        hints=with_measured(declared, topology.measured),
        figures=figures(declared, topology.measured),
        queries=tuple(map(explain_query, physical.queries)),
        apart=tuple(map(explain_separation, physical.separations)),
        unsupported=unsupported(topology.catalog, compiled, target_path, ids),
        obstacles=_obstacles(compiled, topology, root),
    )


def _obstacles(compiled: Compiled, topology: Topology, root: Path) -> dict[str, str]:
    paths = {name: each.path for name, each in compiled.manifest.functions.items()}
    functions = {name: (paths[name], each.runs) for name, each in topology.catalog.functions.items()}
    return {name: str(each) for name, each in obstacles(root, functions).items()}
