"""Gathers all that a site is built from, without paths of this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from millstream.compile.manifest import Compiled, Manifest
from millstream.core.decoding import from_json
from millstream.core.encoding import to_json
from millstream.core.node_id import NodeId
from millstream.docs.texts import compiled_texts, written_texts
from millstream.explain.explanation import Explanation, ExplanationContext, explain_plans
from millstream.explain.explanation_context import about_of
from millstream.explain.queries import ExplainedQuery
from millstream.explain.state_memory import StateStores
from millstream.queries.physical_plan import PhysicalPlan
from millstream.queries.topology import Topology, compiled_topology, physical_of
from millstream.queries.values import Query as Physical
from millstream.results.run_results import RunResults, read_results
from millstream.results.test_results import TestResults, read_test_results

MOST_MODELS = 1_000
"""The site of a larger project has no plan by default, because planning takes longer than everything else."""
Progress = Callable[[str], None]


class PlannedSite(Struct, frozen=True):
    topology: Topology
    physical: PhysicalPlan
    about: ExplanationContext
    explanation: Explanation


class SiteInput(Struct, frozen=True):
    manifest: Manifest
    compiled: dict[NodeId, str]
    """The SQL of models and data tests, by node id."""
    written: dict[NodeId, str]
    """Source files by node id; for functions and tests in YAML, only their lines."""
    results: RunResults | None = None
    tests: TestResults | None = None
    planned: PlannedSite | None = None

    @property
    def queries(self) -> tuple[ExplainedQuery, ...]:
        """The queries of the plan, as they are explained."""
        return self.planned.about.queries if self.planned else ()

    @property
    def physical_queries(self) -> tuple[Physical, ...]:
        return self.planned.physical.queries if self.planned else ()


def gather_input(
    root: Path,
    compilation: Compiled,
    target_path: str,
    *,
    plan: bool | None = None,
    progress: Progress = lambda _: None,
    stores: StateStores | None = None,
) -> SiteInput:
    """Gather the material of a project without errors; `plan` None: if the project is small enough."""
    manifest = compilation.manifest
    results = _without_paths(read_results(root / target_path, manifest.project, manifest.target), root)
    tests = _without_paths(read_test_results(root / target_path, manifest.project, manifest.target), root)
    models = sum(node.kind == "model" for node in manifest.nodes.values())
    with_plan = models <= MOST_MODELS if plan is None else plan
    planned = (
        _planned(root, compilation, results, target_path, stores, progress)
        if with_plan and compilation.catalog
        else None
    )
    progress("Reading")
    return SiteInput(
        manifest,
        compiled_texts(compilation),
        written_texts(root, manifest),
        results,
        tests,
        planned,
    )


_Results = TypeVar("_Results", RunResults, TestResults)


def _without_paths(results: _Results | None, root: Path) -> _Results | None:
    """Shorten paths of this machine, which messages of Spark or Python may contain."""
    if results is None:
        return None
    text = to_json(results).decode()
    for path, name in {str(root.resolve()): ".", str(Path.home()): "~"}.items():
        if len(path) > 1:  # a home of `/` is a part of every path
            text = text.replace(json.dumps(path, ensure_ascii=False)[1:-1], name)
    return from_json(text, type(results))


def _planned(
    root: Path,
    compilation: Compiled,
    results: RunResults | None,
    target_path: str,
    stores: StateStores | None,
    progress: Progress,
) -> PlannedSite:
    progress("Optimizing")
    topology = compiled_topology(compilation, results)
    physical = physical_of(topology)
    about = about_of(compilation, topology, physical, target_path, root, stores=stores)
    progress("Explaining")
    return PlannedSite(topology, physical, about, explain_plans(topology.optimized, about))
