"""Collects what an explanation shows besides plans from a compiled project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from millstream.compile.manifest import Compiled
from millstream.compile.native_functions import find_obstacles
from millstream.core.node_id import NodeId
from millstream.explain.explanation import ExplanationContext
from millstream.explain.figures import list_figures
from millstream.explain.one_state import could_be_one
from millstream.explain.opaque import find_opaque
from millstream.explain.queries import explain_query, explain_separation
from millstream.explain.state_memory import StateStores
from millstream.project.values import LOCAL_PARTITIONS
from millstream.queries.physical_plan import PhysicalPlan
from millstream.queries.topology import Topology, hints_of, physical_settings
from millstream.results.batch_stats import BatchFigures
from millstream.results.selectivity import with_measured


def about_of(
    compiled: Compiled,
    topology: Topology,
    physical: PhysicalPlan,
    target_path: str,
    root: Path,
    ids: tuple[NodeId, ...] | None = None,
    stores: StateStores | None = None,
    batches: Mapping[str, BatchFigures] | None = None,
) -> ExplanationContext:
    """Return the facts about the models with these ids; None: about all.

    `stores` are those of the target, `batches` what runs of its queries have measured.
    """
    declared = hints_of(topology.catalog)
    maintained = {query.maintaining.target.model for query in physical.queries if query.maintaining}
    hints = with_measured(declared, topology.measured)
    state_stores = stores or StateStores(topology.catalog.target.get("shuffle_partitions", LOCAL_PARTITIONS))
    return ExplanationContext(
        project=compiled.manifest.project,
        target=compiled.manifest.target,
        models=ids or (),
        hints=hints,
        figures=list_figures(declared, topology.measured),
        queries=tuple(
            explain_query(query, topology.catalog, state_stores, (batches or {}).get(query.name))
            for query in physical.queries
        ),
        separations=tuple(map(explain_separation, physical.separations)),
        unsupported=find_opaque(topology.catalog, compiled, target_path, ids, maintained),
        obstacles=_obstacles(compiled, topology, root),
        one_state=tuple(could_be_one(topology.optimized, physical_settings(topology.catalog), hints)),
    )


def _obstacles(compiled: Compiled, topology: Topology, root: Path) -> dict[str, str]:
    if topology.catalog.target.get("fast_paths") == "off":
        return dict.fromkeys(topology.catalog.functions, "fast_paths: off")
    paths = {name: function.path for name, function in compiled.manifest.functions.items()}
    functions = {name: (paths[name], function.runs) for name, function in topology.catalog.functions.items()}
    return {name: str(obstacle) for name, obstacle in find_obstacles(root, functions).items()}
