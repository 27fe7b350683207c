"""Compares two versions into a review."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from millstream.core.gc_pause import collector_paused
from millstream.review.contracts import contract_changes
from millstream.review.cost import cost_rows, is_higher, rule_changes
from millstream.review.diagram import diagram
from millstream.review.nodes import Nodes
from millstream.review.plan_cache import load_queries, save_queries
from millstream.review.replay import Statistics
from millstream.review.state import query_changes, running
from millstream.review.values import (
    LEVELS,
    NOT_SAME,
    Base,
    ContractChange,
    CostRow,
    Level,
    NodeChange,
    QueryChange,
    Review,
    RuleChange,
)
from millstream.review.version import Version, with_plan


@collector_paused()
def review(old: Version, new: Version, statistics: Statistics) -> Review:
    """Return what has changed between two versions; the newer one must compile."""
    cached_queries = load_queries(new.cache)
    old = with_plan(old, cached_queries, use_cache=True)
    new = with_plan(new, cached_queries, other=old)
    comparing = Nodes(old, new)
    nodes = comparing.changes()
    by_id = {node.id: node for node in nodes}
    queries: tuple[QueryChange, ...] = ()
    costs: tuple[CostRow, ...] = ()
    rules: tuple[RuleChange, ...] = ()
    same = 0
    if old.topology and new.topology:
        compared = running(old.topology, new.topology, comparing.same_rows)
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
        against=Base(old.name, old.commit),
        levels=levels_of(contracts, reported_queries, costs),
        nodes=with_state(nodes, reported_queries),
        queries=reported_queries,
        same_queries=same,
        contracts=contracts,
        costs=costs,
        rules=rules,
        diagram=diagram(old.manifest, new.manifest, by_id),
        limits=_limits(old),
    )


def with_state(nodes: Sequence[NodeChange], queries: Sequence[QueryChange]) -> tuple[NodeChange, ...]:
    """Mark the models whose queries can't simply continue with the part `state`."""
    losing = {model for q in queries if q.status in NOT_SAME for model in q.models}
    return tuple(
        replace(node, parts=(*node.parts, "state"))
        if node.kind == "model" and "state" not in node.parts and node.id.removeprefix("model.") in losing
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


def _limits(old: Version) -> tuple[str, ...]:
    if not old.less:
        return ()
    compared = "Columns, types and options are compared, and files by their text."
    return (f"{old.name}: {old.less}. {compared} Changes of meaning, state and cost are unknown.",)
