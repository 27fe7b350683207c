"""Compares two versions into a review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from millstream.compile.manifest import Manifest, ManifestNode
from millstream.core.diagram import Diagram, DiagramEdge, DiagramNode, Shape, write_mermaid
from millstream.core.gc_pause import collector_paused
from millstream.core.node_id import NodeId
from millstream.review.contracts import contract_changes
from millstream.review.cost import cost_rows, is_higher, rule_changes
from millstream.review.nodes import NodeComparison
from millstream.review.plan_cache import load_queries, save_queries
from millstream.review.rebuild_cost import ReplayFigures
from millstream.review.state import deployed_queries, query_changes
from millstream.review.values import (
    LEVELS,
    NOT_SAME,
    BaseVersion,
    ContractChange,
    CostRow,
    Level,
    NodeChange,
    QueryChange,
    Review,
    RuleChange,
)
from millstream.review.version import ReviewedVersion, with_plan

_MOST = 40
"""Larger diagrams are not readable."""
_SHAPES: dict[str, Shape] = {"source": "store", "exposure": "hexagon"}
_DRAWN = {"model", "source", "seed", "exposure"}
_STYLES = {
    "added": "fill:#dafbe1,stroke:#1a7f37,color:#1f2328",
    "removed": "fill:#ffebe9,stroke:#cf222e,color:#1f2328,stroke-dasharray:4 3",
    "changed": "fill:#fff8c5,stroke:#9a6700,color:#1f2328",
    "affected": "stroke:#9a6700,stroke-dasharray:4 3",
}
"""Colors that are readable on light and dark pages."""


@collector_paused()
def review_versions(old: ReviewedVersion, new: ReviewedVersion, statistics: ReplayFigures) -> Review:
    """Return what has changed between two versions; the newer one must compile."""
    cached_queries = load_queries(new.cache)
    old = with_plan(old, cached_queries, use_cache=True)
    new = with_plan(new, cached_queries, other=old)
    comparing = NodeComparison(old, new)
    nodes = comparing.changes()
    by_id = {node.id: node for node in nodes}
    queries: tuple[QueryChange, ...] = ()
    costs: tuple[CostRow, ...] = ()
    rules: tuple[RuleChange, ...] = ()
    same = 0
    if old.topology and new.topology:
        compared = deployed_queries(old.topology, new.topology, comparing.same_rows)
        save_queries(new.cache, cached_queries)
        queries = query_changes(compared, statistics)
        others = sum(query.status not in {"same", "removed"} for query in queries)
        same = len(compared.groups[1].models) - others
        costs = cost_rows(old.topology, new.topology, compared)
        rules = rule_changes(old.topology.optimized, new.topology.optimized, by_id, new.manifest)
    accept = frozenset(acceptance for query in queries for acceptance in query.accept)
    contracts = contract_changes(old, new, by_id, accept)
    reported_queries = tuple(query for query in queries if query.status != "same" or query.notes)
    return Review(
        project=new.manifest.project,
        target=new.manifest.target,
        against=BaseVersion(old.name, old.commit),
        levels=levels_of(contracts, reported_queries, costs),
        nodes=with_state(nodes, reported_queries),
        queries=reported_queries,
        same_queries=same,
        contracts=contracts,
        costs=costs,
        rules=rules,
        diagram=draw_changes(old.manifest, new.manifest, by_id),
        limits=_limits(old),
    )


def with_state(nodes: Sequence[NodeChange], queries: Sequence[QueryChange]) -> tuple[NodeChange, ...]:
    """Mark the models whose queries can't simply continue with the part `state`."""
    losing = {model for q in queries if q.status in NOT_SAME for model in q.models}
    return tuple(
        replace(node, parts=(*node.parts, "state"))
        if node.kind == "model" and "state" not in node.parts and node.id.shown_name in losing
        else node
        for node in nodes
    )


def levels_of(
    contracts: Sequence[ContractChange], queries: Sequence[QueryChange], costs: Sequence[CostRow]
) -> tuple[Level, ...]:
    reached: set[Level] = set()
    if any(contract.breaking for contract in contracts):
        reached.add("breaking")
    statuses = {query.status for query in queries}
    reached.update(level for level in LEVELS if level in statuses)
    if is_higher(costs):
        reached.add("cost")
    return tuple(level for level in LEVELS if level in reached)


def _limits(old: ReviewedVersion) -> tuple[str, ...]:
    if not old.less:
        return ()
    compared = "Columns, types and options are compared, and files by their text."
    return (f"{old.name}: {old.less}. {compared} Changes of meaning, state and cost are unknown.",)


def draw_changes(old: Manifest, new: Manifest, nodes: Mapping[NodeId, NodeChange]) -> str:
    """Return a drawing; empty if nothing changed, or if it would be too large."""
    changed = {id_: change for id_, change in nodes.items() if change.kind in _DRAWN}
    before, after = _edges(old), _edges(new)
    edges = {edge for edge in before | after if any(end in changed for end in edge)}
    ids = sorted({end for edge in edges for end in edge} | set(changed))
    if not changed or len(ids) > _MOST:
        return ""
    drawn = tuple(_node(id_, new.nodes.get(id_) or old.nodes.get(id_), changed.get(id_)) for id_ in ids)
    arrows = tuple(
        DiagramEdge(
            str(parent),
            str(child),
            line="plain" if edge in before & after else "added" if edge in after else "removed",
        )
        for edge in sorted(edges)
        for parent, child in [edge]
    )
    return write_mermaid(Diagram(drawn, arrows, styles=_STYLES))


def _node(id_: NodeId, node: ManifestNode | None, change: NodeChange | None) -> DiagramNode:
    name, style = id_.name, _style(change)
    if node is None:
        return DiagramNode(str(id_), (name,), style=style)
    if (stored := node.materialization) is None:
        return DiagramNode(str(id_), (name, node.kind), shape=_SHAPES.get(node.kind, "box"), style=style)
    if not stored.stored_as:
        return DiagramNode(str(id_), (name,), style=style)
    return DiagramNode(str(id_), (name, stored.word), shape="store", style=style)


def _edges(manifest: Manifest) -> set[tuple[NodeId, NodeId]]:
    return {(p, node.id) for node in manifest.nodes.values() if node.kind in _DRAWN for p in node.depends_on}


def _style(change: NodeChange | None) -> str:
    if change is None:
        return ""
    return "changed" if change.status == "renamed" else change.status
