"""What an explanation tells beside plans, taken from a compiled project."""

from __future__ import annotations

from millstream.explain.explanation import About
from millstream.explain.figures import figures
from millstream.explain.opaque import unsupported
from millstream.explain.queries import apart, told
from millstream.manifest import Compiled
from millstream.measured import with_measured
from millstream.physical.plan import Physical
from millstream.topology import Topology, hints_of


def about_of(
    found: Compiled,
    topology: Topology,
    physical: Physical,
    target_path: str,
    ids: tuple[str, ...] | None = None,
) -> About:
    """Return what is told of the models with these ids; None: of all."""
    declared = hints_of(topology.catalog)
    return About(
        project=found.manifest.project,
        target=found.manifest.target,
        models=ids or (),
        hints=with_measured(declared, topology.measured),
        figures=figures(declared, topology.measured),
        queries=tuple(map(told, physical.queries)),
        apart=tuple(map(apart, physical.separations)),
        unsupported=unsupported(topology.catalog, found, target_path, ids),
    )
