"""Aggregates that could keep one state: a rule that models must ask for, as an edit then concerns all."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from millstream.core.node_id import NodeId
from millstream.explain.names import model_name
from millstream.explain.savings import Cost, Costs
from millstream.plan.nodes import Aggregate, Filter, Node, Plan, Project, Repartition, Watermark
from millstream.plan.optimizer.context import PlanHints
from millstream.plan.optimizer.driver import OptimizedPlan, RuleStep, optimize_plan
from millstream.plan.optimizer.rules import RULES
from millstream.plan.optimizer.rules.merge_aggregates import merge_aggregates
from millstream.plan.optimizer.rules.share_repartition import share_repartition
from millstream.plan.walk import below
from millstream.queries.values import PhysicalSettings

_MERGE, _SHARE = merge_aggregates.__name__, share_repartition.__name__


class OneState(Struct, frozen=True):
    """What models cost now, and what they would cost."""

    models: tuple[str, ...]
    separate: Cost = field(name="apart")
    merged: Cost


def could_be_one(
    optimized: OptimizedPlan, settings: PhysicalSettings, hints: PlanHints
) -> Iterable[OneState]:
    """Yield the models of a plan whose aggregates could be one, unless their options say otherwise."""
    if _SHARE not in settings.rules or not _shares_rows(optimized.plan):
        return
    rules = [rule for rule in RULES if rule.__name__ in {*settings.rules, _MERGE}]
    unshared = {model: off | {_MERGE} for model, off in settings.switched_off.items() if _SHARE in off}
    other = optimize_plan(optimized.written, rules, hints, {**settings.switched_off, **unshared})
    costs = Costs(hints)
    before, after = (_merged(plan.steps) for plan in (optimized, other))
    for models in after:
        # One after another, more models join.
        if models not in before and not any(set(models) < set(others) for others in after):
            plans = (_of(plan, models) for plan in (optimized.plan, other.plan))
            yield OneState(tuple(map(model_name, models)), *map(costs.of, plans))


def _merged(steps: Iterable[RuleStep]) -> list[tuple[NodeId, ...]]:
    return [change.models for step in steps if step.rule == _MERGE for change in step.changes]


def _shares_rows(plan: Plan) -> bool:
    """Whether several aggregates get their rows from one repartition."""
    seen: set[int] = set()
    for node in plan.order:
        below = _moved(node.input) if isinstance(node, Aggregate) else None
        if below is not None and id(below) in seen:
            return True
        seen.add(id(below))
    return False


def _moved(node: Node) -> Repartition | None:
    moved = below(node, Filter, Project, Watermark)
    return moved if isinstance(moved, Repartition) else None


def _of(plan: Plan, models: tuple[NodeId, ...]) -> Plan:
    return Plan(tuple(output for output in plan.outputs if output.model in models))
