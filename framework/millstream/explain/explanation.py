"""All that `explain` shows about a project, as one value that every format reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field

from millstream.core.node_id import NodeId
from millstream.explain.calls import FunctionCalls, python_calls
from millstream.explain.figures import Figure
from millstream.explain.names import model_name
from millstream.explain.one_state import OneState
from millstream.explain.opaque import OpaqueSql
from millstream.explain.queries import ExplainedQuery, SeparationReason
from millstream.explain.savings import Cost, Costs, add_costs, separate_outputs, subtract_costs
from millstream.explain.topology import Drawing, draw_plan
from millstream.plan.nodes import Output, Plan
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.context import PlanChange, PlanHints
from millstream.plan.optimizer.driver import OptimizedPlan, RuleStep

SCHEMA_VERSION = 1


class RuleReport(Struct, frozen=True):
    """What one rule did, in all of its rounds."""

    rule: str
    changes: tuple[PlanChange, ...]
    saves: Cost


class Explanation(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    project: str = ""
    target: str = ""
    step: str = ""
    """The rule, if only this rule is explained; `written` is then the plan before it."""
    models: tuple[str, ...] = ()
    """Names of the selected models; empty: all."""
    written: Drawing
    optimized: Drawing
    cost_written: Cost
    """With a separate query for each output."""
    cost_optimized: Cost
    saves: Cost
    together: Cost | None = None
    """Savings from parts of the plan that several outputs share."""
    rules: tuple[RuleReport, ...] = ()
    queries: tuple[ExplainedQuery, ...] = ()
    separations: tuple[SeparationReason, ...] = field(default=(), name="apart")
    calls: tuple[FunctionCalls, ...] = ()
    unsupported: tuple[OpaqueSql, ...] = ()
    figures: tuple[Figure, ...] = ()
    """The figures behind the order of filters and the savings."""
    one_state: tuple[OneState, ...] = ()
    """Aggregates that could keep one state."""


class ExplanationContext(Struct, frozen=True):
    """What an explanation shows besides plans."""

    project: str = ""
    target: str = ""
    models: tuple[NodeId, ...] = ()
    """Ids of the selected models; empty: all."""
    hints: PlanHints = PlanHints()
    queries: tuple[ExplainedQuery, ...] = ()
    separations: tuple[SeparationReason, ...] = ()
    unsupported: tuple[OpaqueSql, ...] = ()
    figures: tuple[Figure, ...] = ()
    obstacles: Mapping[str, str] = {}
    """Why functions run in Python, by name."""
    one_state: tuple[OneState, ...] = ()


def explain_plans(plans: OptimizedPlan, about: ExplanationContext) -> Explanation:
    """Explain how a plan was optimized, for the selected models."""
    chosen = outputs_of(plans.written, about.models) if about.models else None
    written, optimized = of_outputs(plans.written, chosen), of_outputs(plans.plan, chosen)
    queries, parts = _parts(optimized, about.queries, everything=chosen is None)
    costs = Costs(about.hints)
    separately, old = costs.of(written, separate_outputs(written)), costs.of(written)
    new = costs.of(optimized, parts)
    return Explanation(
        project=about.project,
        target=about.target,
        models=tuple(map(model_name, about.models)),
        written=draw_plan(written),
        optimized=draw_plan(optimized, models_of(queries)),
        cost_written=separately,
        cost_optimized=new,
        saves=subtract_costs(separately, new),
        together=subtract_costs(separately, old),
        rules=_rules(plans.steps, chosen, costs),
        queries=queries,
        separations=tuple(
            separation
            for separation in about.separations
            if chosen is None or NodeId("model", separation.model) in chosen
        ),
        calls=tuple(python_calls(optimized, about.obstacles)),
        unsupported=about.unsupported,
        figures=about.figures,
        one_state=tuple(
            shared
            for shared in about.one_state
            if chosen is None or any(NodeId("model", name) in chosen for name in shared.models)
        ),
    )


def explain_step(step: RuleStep, about: ExplanationContext) -> Explanation:
    """Explain one run of one rule."""
    chosen = outputs_of(step.before, about.models) if about.models else None
    before, after = of_outputs(step.before, chosen), of_outputs(step.after, chosen)
    costs = Costs(about.hints)
    old, new = costs.of(before), costs.of(after)
    return Explanation(
        project=about.project,
        target=about.target,
        step=step.rule,
        models=tuple(map(model_name, about.models)),
        written=draw_plan(before),
        optimized=draw_plan(after),
        cost_written=old,
        cost_optimized=new,
        saves=subtract_costs(old, new),
        rules=_rules([step], chosen, costs),
        calls=tuple(python_calls(after, about.obstacles)),
    )


def outputs_of(plan: Plan, models: Collection[NodeId]) -> frozenset[NodeId]:
    """Return the outputs of models; for a view without an output, all outputs that depend on it."""
    stored = {output.model for output in plan.outputs}
    views = {model for model in models if model not in stored}
    outputs = stored.intersection(models)
    if views:
        for output in plan.outputs:
            if any(views.intersection(node.models) for node in in_order([output])):
                outputs.add(output.model)
    return frozenset(outputs)


def of_outputs(plan: Plan, models: Collection[NodeId] | None) -> Plan:
    if models is None:
        return plan
    return Plan(tuple(output for output in plan.outputs if output.model in models))


def _parts(
    plan: Plan, queries: Sequence[ExplainedQuery], *, everything: bool
) -> tuple[tuple[ExplainedQuery, ...], list[list[Output]] | None]:
    """Return the queries that compute any of the outputs, and the outputs of each; None if none is known.

    With `everything`, queries that only write dead letters are included. Queries that store a reference topic
    as a table are included if another query reads it.
    """
    selected: list[ExplainedQuery] = []
    parts: list[list[Output]] = []
    left = {output.model: output for output in plan.outputs}
    for query in queries:
        outputs = [left.pop(id_) for name in query.models if (id_ := NodeId("model", name)) in left]
        if outputs:
            parts.append(outputs)
        if outputs or (everything and not query.models):
            selected.append(query)
    read = {name for query in selected for name in query.sources if query.models}
    selected = [*(q for q in queries if q.keeps in read and q not in selected), *selected]
    if not parts:
        return tuple(selected), None
    return tuple(selected), [*parts, *([output] for output in left.values())]


def models_of(queries: Iterable[ExplainedQuery]) -> list[tuple[str, frozenset[NodeId]]]:
    """Return each query's name with the ids of its models."""
    return [(query.name, frozenset(NodeId("model", name) for name in query.models)) for query in queries]


def _rules(
    steps: Iterable[RuleStep], chosen: Collection[NodeId] | None, costs: Costs
) -> tuple[RuleReport, ...]:
    changes: dict[str, list[PlanChange]] = {}
    saves: dict[str, Cost] = {}
    for step in steps:
        old, new = of_outputs(step.before, chosen), of_outputs(step.after, chosen)
        if chosen is not None and same_outputs(old, new):
            continue
        changes.setdefault(step.rule, []).extend(_relevant(step, old, new, everything=chosen is None))
        less = subtract_costs(costs.of(old), costs.of(new))
        saves[step.rule] = add_costs(saves[step.rule], less) if step.rule in saves else less
    return tuple(RuleReport(rule, tuple(dict.fromkeys(all_)), saves[rule]) for rule, all_ in changes.items())


def same_outputs(old: Plan, new: Plan) -> bool:
    return all(a is b for a, b in zip(old.outputs, new.outputs, strict=True))


def _relevant(step: RuleStep, old: Plan, new: Plan, *, everything: bool) -> Iterable[PlanChange]:
    """Return the changes that concern models of these plans, and those that name no model."""
    if everything:
        return step.changes
    near = {model for plan in (old, new) for node in in_order(plan.outputs) for model in node.models}
    return [change for change in step.changes if not change.models or near.intersection(change.models)]
