"""Compares the cost per record in two versions, and what the optimizer stopped or started doing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import asdict

from millstream.compile.manifest import Manifest
from millstream.core.node_id import NodeId
from millstream.explain.savings import NAMES, Cost, plan_cost
from millstream.plan.nodes import Output
from millstream.plan.optimizer.driver import OptimizedPlan
from millstream.queries.physical_plan import ModelGroups, PhysicalPlan
from millstream.queries.topology import Topology, hints_of
from millstream.review.state import DeployedQueries
from millstream.review.values import CostRow, EditedLine, NodeChange, RuleChange

_WORSE = ("reads", "decodes", "shuffles", "states", "python_calls", "queries")
"""The numbers by which a review decides that the cost is higher; the others follow from these."""
_WORDS = NAMES | {
    "queries": "queries",
    "state_bytes": "bytes of state of the queries above, approximately",
}


def cost_rows(old: Topology, new: Topology, compared: DeployedQueries) -> tuple[CostRow, ...]:
    """Return the numbers that differ, with readable names."""
    before = dict(_numbers(old, compared.groups[0], compared.old))
    after = dict(_numbers(new, compared.groups[1], compared.new))
    return tuple(
        CostRow(_WORDS[name], before[name] or 0, number or 0)
        for name, number in after.items()
        if number is not None and before[name] is not None and number != before[name]
    )


def is_higher(rows: Sequence[CostRow]) -> bool:
    return any(row.after > row.before for row in main_costs(rows))


def main_costs(rows: Sequence[CostRow]) -> list[CostRow]:
    """Return the rows that decide whether the cost is higher."""
    worse = {_WORDS[name] for name in _WORSE}
    return [row for row in rows if row.name in worse]


def _numbers(
    topology: Topology, groups: ModelGroups, physical: PhysicalPlan
) -> Iterator[tuple[str, float | None]]:
    yield "queries", len(groups.models)
    for name, number in asdict(_cost(topology, groups)).items():
        if name not in {"projections", "watermarks"}:  # which cost next to nothing
            yield name, number
    sizes = [query.memory.bytes for query in physical.queries if query.signature.stateful]
    yield "state_bytes", None if None in sizes else sum(size or 0 for size in sizes)


def _cost(topology: Topology, groups: ModelGroups) -> Cost:
    """Return the cost of all queries; what several queries need runs in each of them."""
    left = {output.model: output for output in topology.plan.outputs if output.materialization.stored_as}
    parts: list[list[Output]] = []
    for models in groups.models.values():
        outputs = [left.pop(model) for model in models if model in left]
        if outputs:
            parts.append(outputs)
    parts += [[output] for output in left.values()]
    return plan_cost(topology.plan, parts, hints_of(topology.catalog))


def rule_changes(
    old: OptimizedPlan, new: OptimizedPlan, nodes: Mapping[NodeId, NodeChange], manifest: Manifest
) -> tuple[RuleChange, ...]:
    """Return what rules do for models in one version only, except for added and removed models.

    `nodes` are the changes by id, `manifest` is the newer one.
    """
    in_one = {node.id for node in nodes.values() if node.status in {"added", "removed"}}
    before, after = _rule_effects(old, in_one), _rule_effects(new, in_one)
    changes = [
        RuleChange(
            rule=rule,
            status=status,  # type: ignore[arg-type]  # literals below
            what="; ".join(what),
            models=models,
            edited_line=_edited_line(models, nodes, manifest),
        )
        for status, these, others in (("stopped", before, after), ("started", after, before))
        for (rule, models), what in these.items()
        if (rule, models) not in others and models
    ]
    return tuple(sorted(changes, key=lambda change: (change.status != "stopped", change.rule, change.what)))


def _rule_effects(
    optimized: OptimizedPlan, ignored: AbstractSet[NodeId]
) -> dict[tuple[str, tuple[NodeId, ...]], list[str]]:
    """Return what each rule did, by rule and models."""
    by_rule: dict[tuple[str, tuple[NodeId, ...]], list[str]] = {}
    for step in optimized.steps:
        for change in step.changes:
            effects = by_rule.setdefault((step.rule, tuple(sorted(set(change.models) - ignored))), [])
            if change.what not in effects:
                effects.append(change.what)
    return by_rule


def _edited_line(
    models: Sequence[NodeId], nodes: Mapping[NodeId, NodeChange], manifest: Manifest
) -> EditedLine | None:
    """Return the first edited line of the models, or else of a model that reads them."""
    readers = (node.id for node in manifest.nodes.values() if not set(models).isdisjoint(node.depends_on))
    return next(
        (line for id_ in (*models, *readers) if id_ in nodes for line in nodes[id_].edited_lines), None
    )
