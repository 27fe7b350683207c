"""What an environment reads from production: all that is stored there and means the same, as in dbt's defer.

A model is built in the environment if `state:modified+` selects it against what runs, if its state or stored
rows would not fit those that run, or if production does not store it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.graph import build_graph, walk_graph
from millstream.core.node_id import NodeId
from millstream.deploy.planning.records import Deployed, Offsets
from millstream.plan.nodes import RowCheck
from millstream.queries.topology import Topology
from millstream.queries.verdict import compare_signatures
from millstream.review.selecting import StateSelector
from millstream.review.state import deployed_queries
from millstream.review.version import ReviewedVersion, with_plan


class DeferredRelations(Struct, frozen=True):
    """What is read from production."""

    relations: frozenset[NodeId] = frozenset()
    """Ids of models and reference topics."""
    began: dict[str, Offsets] = {}
    """Where the records begin that the running version of a topic has."""


def find_deferred(deployed: Deployed, old: ReviewedVersion | None, new: ReviewedVersion) -> DeferredRelations:
    """Return what is read from production; `old` is the version that runs there, if it is known."""
    if old is None:
        return DeferredRelations()
    old = with_plan(old)
    new = with_plan(new, other=old)
    if not (old.topology and new.topology):
        return DeferredRelations()
    changed = StateSelector(old, new)("modified") | _unfit(old.topology, new.topology)
    changed |= _differently_tested(old.topology, new.topology)
    graph = build_graph(new.manifest.nodes)
    built = changed | walk_graph(changed & graph.nodes.keys(), graph.children)
    stored, began = _stored(deployed)
    topics = _topics(new.topology)
    unchanged = {id_ for id_, topic in topics.items() if id_ not in built and stored.get(id_) == topic}
    return DeferredRelations(
        frozenset(unchanged), {topics[id_]: began[id_] for id_ in sorted(unchanged) if id_ in began}
    )


def _stored(deployed: Deployed) -> tuple[dict[NodeId, str], dict[NodeId, Offsets]]:
    """Return the topics of what production stores, empty for tables, and where their records begin."""
    stored: dict[NodeId, str] = {}
    began: dict[NodeId, Offsets] = {}
    for name, record in deployed.records.items():
        if name in deployed.never_started:
            continue
        for id_, topic in (record.outputs or {}).items():
            stored[id_] = topic
            if topic in record.began:
                began[id_] = record.began[topic]
    return stored, began


def _topics(topology: Topology) -> Mapping[NodeId, str]:
    """Return the topics of all that the project stores, empty for tables."""
    outputs = {output.model: output.topic for output in topology.written.outputs}
    return outputs | {id_: "" for id_ in topology.plan.tables if id_ in topology.catalog.sources}


def _unfit(old: Topology, new: Topology) -> set[NodeId]:
    """Return the models whose own state or stored rows would not fit, whatever they share a query with."""
    compared = deployed_queries(_alone(old), _alone(new))
    before = {query.name: query for query in compared.old.queries}
    return {
        model
        for query in compared.new.queries
        if query.name in before
        and compare_signatures(before[query.name].signature, query.signature).kind != "same"
        for model in query.stored
    }


def _alone(topology: Topology) -> Topology:
    catalog = topology.catalog
    return replace(topology, catalog=replace(catalog, target={**catalog.target, "grouping": "off"}))


def _differently_tested(old: Topology, new: Topology) -> set[NodeId]:
    """Return the models for which other tests decide which rows are stored."""
    before = {id_: _deciding(spec.checks) for id_, spec in old.catalog.models.items()}
    models = new.catalog.models.items()
    return {id_ for id_, spec in models if before.get(id_) != _deciding(spec.checks)}


def _deciding(checks: Iterable[RowCheck]) -> list[tuple[str, str, str]]:
    return sorted((check.name, check.severity, check.wrong.text) for check in checks if check.keeps_out)
