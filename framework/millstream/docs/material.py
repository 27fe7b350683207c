"""All that a site is made from, gathered once: no path in it says where the project lies on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from millstream.docs.texts import compiled, written
from millstream.explain.about import about_of
from millstream.explain.explanation import About, Explanation, explain
from millstream.manifest import Compiled, Manifest
from millstream.physical.plan import Physical
from millstream.results import RunResults, read_results
from millstream.tested import TestResults, read_test_results
from millstream.topology import Topology, compiled_topology, physical_of

MOST_MODELS = 1_000
"""Of larger projects the plan is left out, unless it is asked for: it takes longer than all the rest."""
Progress = Callable[[str], None]


class Planned(Struct, frozen=True):
    topology: Topology
    physical: Physical
    about: About
    explanation: Explanation


class Material(Struct, frozen=True):
    manifest: Manifest
    compiled: dict[str, str]
    """Rendered SQL by node id, and that of data tests."""
    written: dict[str, str]
    """Files as they are, by node id; of a function and of a test in YAML their lines."""
    results: RunResults | None = None
    tests: TestResults | None = None
    planned: Planned | None = None


def gather(
    root: Path,
    found: Compiled,
    target_path: str,
    *,
    plan: bool | None = None,
    progress: Progress = lambda _: None,
) -> Material:
    """Return what the site of a project without errors is made from; `plan` None: as its size allows."""
    manifest = found.manifest
    results = _placeless(read_results(root / target_path, manifest.project, manifest.target), root)
    tests = _placeless(read_test_results(root / target_path, manifest.project, manifest.target), root)
    models = sum(node.kind == "model" for node in manifest.nodes.values())
    wanted = models <= MOST_MODELS if plan is None else plan
    planned = _planned(found, results, target_path, progress) if wanted and found.catalog else None
    progress("Reading")
    return Material(manifest, compiled(found), written(root, manifest), results, tests, planned)


_Results = TypeVar("_Results", RunResults, TestResults)


def _placeless(results: _Results | None, root: Path) -> _Results | None:
    """Return results whose messages name no folder of this machine: what Spark or Python said may do."""
    if results is None:
        return None
    # A home of `/` is a part of every path.
    places = {str(root.resolve()): ".", str(Path.home()): "~"}
    text = msgspec.json.encode(results).decode()
    for place, name in places.items():
        if len(place) > 1:
            text = text.replace(json.dumps(place, ensure_ascii=False)[1:-1], name)
    return msgspec.json.decode(text, type=type(results))


def _planned(found: Compiled, results: RunResults | None, target_path: str, progress: Progress) -> Planned:
    progress("Optimizing")
    topology = compiled_topology(found, results)
    physical = physical_of(topology)
    about = about_of(found, topology, physical, target_path)
    progress("Explaining")
    return Planned(topology, physical, about, explain(topology.optimized, about))
