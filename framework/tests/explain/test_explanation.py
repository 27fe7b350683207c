"""Which models an explanation covers."""

import shop_plan
from shop_plan import named, stored
from support.plans import topic, where

from millstream.core.node_id import NodeId
from millstream.explain.explanation import ExplanationContext, explain_plans, explain_step, outputs_of
from millstream.explain.queries import ExplainedQuery, SeparationReason
from millstream.explain.savings import add_costs, plan_cost, separate_outputs
from millstream.plan.nodes import Plan
from millstream.plan.optimizer.context import PlanChange
from millstream.plan.optimizer.driver import OptimizedPlan, RuleStep


def test_savings_add_up() -> None:
    explanation = explain_plans(shop_plan.optimized_plan(), ExplanationContext())
    assert explanation.together is not None
    total = explanation.cost_optimized
    for saved in (explanation.together, *(report.saves for report in explanation.rules)):
        total = add_costs(total, saved)
    assert (
        total
        == explanation.cost_written
        == plan_cost(shop_plan.written(), separate_outputs(shop_plan.written()))
    )


def test_only_the_outputs_of_chosen_models() -> None:
    explanation = explain_plans(
        shop_plan.optimized_plan(), ExplanationContext(models=(NodeId("model", "clicks"),))
    )
    assert (explanation.written.outputs, explanation.optimized.outputs) == (
        ("clicks.sink",),
        ("clicks.sink",),
    )
    assert explanation.models == ("clicks",)


def test_a_view_is_explained_by_what_reads_it() -> None:
    assert outputs_of(shop_plan.written(), (NodeId("model", "interesting_events"),)) == {
        "model.scored",
        "model.counts",
    }


def test_rules_that_did_nothing_to_chosen_models_are_left_out() -> None:
    explanation = explain_plans(
        shop_plan.optimized_plan(), ExplanationContext(models=(NodeId("model", "counts"),))
    )
    assert [report.rule for report in explanation.rules] == ["share_equal"]
    same = explain_plans(OptimizedPlan(*[shop_plan.optimized()] * 2), ExplanationContext())
    assert same.rules == ()


def test_changes_of_other_models_are_left_out() -> None:
    source = topic("a")
    before = Plan(tuple(stored(named(where(topic("a"), "a > 1"), m), m) for m in ("one", "two")))
    after = Plan(tuple(stored(named(where(source, "a > 1"), m), m) for m in ("one", "two")))
    changes = (
        PlanChange("of one", (NodeId("model", "one"),)),
        PlanChange("of two", (NodeId("model", "two"),)),
    )
    explanation = explain_plans(
        OptimizedPlan(before, after, (RuleStep("r", changes, before, after),)),
        ExplanationContext(models=(NodeId("model", "one"),)),
    )
    assert [change.what for change in explanation.rules[0].changes] == ["of one"]


def test_several_rounds_of_a_rule_are_one_report() -> None:
    first, last = shop_plan.written(), shop_plan.optimized()
    steps = (
        RuleStep("r", (PlanChange("a"),), first, last),
        RuleStep("r", (PlanChange("b"),), last, first),
        RuleStep("s", (), first, last),
    )
    explanation = explain_plans(OptimizedPlan(first, last, steps), ExplanationContext())
    assert [(report.rule, [c.what for c in report.changes]) for report in explanation.rules] == [
        ("r", ["a", "b"]),
        ("s", []),
    ]
    assert explanation.rules[0].saves == plan_cost(Plan(()))


def test_a_step_is_told_by_itself() -> None:
    explanation = explain_step(shop_plan.optimized_plan().steps[0], ExplanationContext())
    assert (explanation.step, explanation.cost_written.reads, explanation.cost_optimized.reads) == (
        "share_equal",
        2,
        1,
    )


def test_queries_say_what_is_really_shared() -> None:
    queries = (ExplainedQuery("a", models=("scored", "clicks")), ExplainedQuery("b", models=("counts",)))
    assert (
        explain_plans(shop_plan.optimized_plan(), ExplanationContext(queries=queries)).cost_optimized.reads
        == 2
    )


def test_queries_of_other_models_are_left_out() -> None:
    about = ExplanationContext(
        models=(NodeId("model", "counts"),),
        queries=(ExplainedQuery("a", models=("scored", "clicks")), ExplainedQuery("b", models=("counts",))),
        separations=(
            SeparationReason("counts", "it keeps state"),
            SeparationReason("scored", "of another kind"),
        ),
    )
    explanation = explain_plans(shop_plan.optimized_plan(), about)
    assert [query.name for query in explanation.queries] == ["b"]
    assert [separation.model for separation in explanation.separations] == ["counts"]
