"""In which query a model runs, and what state it keeps."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from millstream.core.node_id import NodeId
from millstream.editor.project import EditorProject
from millstream.explain.facts import state_text
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import KnownTraits
from millstream.queries.topology import Topology, compiled_topology, groups_of

MOST_MODELS = 300
"""Larger projects are not planned while their editor waits: a thousand models take seconds."""

Facts = dict[NodeId, tuple[str, ...]]
_FACTS: WeakKeyDictionary[EditorProject, Facts] = WeakKeyDictionary()


def facts_of(view: EditorProject) -> Facts | None:
    """Return sentences about how models run; None if the project has errors, or is large."""
    compiled = view.compiled
    if not compiled.catalog or len(view.paths) > MOST_MODELS:
        return None
    if view not in _FACTS:
        _FACTS[view] = _facts(compiled_topology(compiled))
    return _FACTS[view]


def _facts(topology: Topology) -> Facts:
    queries: dict[NodeId, list[str]] = {}
    for name, models in groups_of(topology).models.items():
        for model in models:
            others = [other.shown_name for other in models if other != model]
            shared = f" with {', '.join(others)}" if others else ""
            queries.setdefault(model, []).append(f"Runs in query `{name}`{shared}")
    states: dict[NodeId, list[str]] = {}
    traits = KnownTraits()
    for node in in_order(topology.written.outputs):
        if node.stateful and (text := state_text(node, traits.of(node))):
            for model in node.models:
                states.setdefault(model, []).append(f"State: {text}")
    return {id_: (*queries.get(id_, ()), *states.get(id_, ())) for id_ in {*queries, *states}}
