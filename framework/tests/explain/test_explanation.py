"""Which models an explanation covers."""

import shop_plan
from shop_plan import named, stored
from support.plans import topic, where

from millstream.explain.explanation import About, explain, explain_step, outputs_of
from millstream.explain.queries import Query, SeparationReason
from millstream.explain.savings import added, alone, cost
from millstream.plan.nodes import Plan
from millstream.plan.optimizer.context import Change
from millstream.plan.optimizer.driver import Optimized, Step


def test_savings_add_up() -> None:
    explanation = explain(shop_plan.optimized_plan(), About())
    assert explanation.together is not None
    total = explanation.cost_optimized
    for saved in (explanation.together, *(report.saves for report in explanation.rules)):
        total = added(total, saved)
    assert total == explanation.cost_written == cost(shop_plan.written(), alone(shop_plan.written()))


def test_only_the_outputs_of_chosen_models() -> None:
    explanation = explain(shop_plan.optimized_plan(), About(models=("model.clicks",)))
    assert (explanation.written.outputs, explanation.optimized.outputs) == (
        ("clicks.sink",),
        ("clicks.sink",),
    )
    assert explanation.models == ("clicks",)


def test_a_view_is_explained_by_what_reads_it() -> None:
    assert outputs_of(shop_plan.written(), ("model.interesting_events",)) == {"model.scored", "model.counts"}


def test_rules_that_did_nothing_to_chosen_models_are_left_out() -> None:
    explanation = explain(shop_plan.optimized_plan(), About(models=("model.counts",)))
    assert [report.rule for report in explanation.rules] == ["share_equal"]
    same = explain(Optimized(*[shop_plan.optimized()] * 2), About())
    assert same.rules == ()


def test_changes_of_other_models_are_left_out() -> None:
    source = topic("a")
    before = Plan(tuple(stored(named(where(topic("a"), "a > 1"), m), m) for m in ("one", "two")))
    after = Plan(tuple(stored(named(where(source, "a > 1"), m), m) for m in ("one", "two")))
    changes = (Change("of one", ("model.one",)), Change("of two", ("model.two",)))
    explanation = explain(
        Optimized(before, after, (Step("r", changes, before, after),)), About(models=("model.one",))
    )
    assert [change.what for change in explanation.rules[0].changes] == ["of one"]


def test_several_rounds_of_a_rule_are_one_report() -> None:
    first, last = shop_plan.written(), shop_plan.optimized()
    steps = (
        Step("r", (Change("a"),), first, last),
        Step("r", (Change("b"),), last, first),
        Step("s", (), first, last),
    )
    explanation = explain(Optimized(first, last, steps), About())
    assert [(report.rule, [c.what for c in report.changes]) for report in explanation.rules] == [
        ("r", ["a", "b"]),
        ("s", []),
    ]
    assert explanation.rules[0].saves == cost(Plan(()))


def test_a_step_is_told_by_itself() -> None:
    explanation = explain_step(shop_plan.optimized_plan().steps[0], About())
    assert (explanation.step, explanation.cost_written.reads, explanation.cost_optimized.reads) == (
        "share_equal",
        2,
        1,
    )


def test_queries_say_what_is_really_shared() -> None:
    queries = (Query("a", models=("scored", "clicks")), Query("b", models=("counts",)))
    assert explain(shop_plan.optimized_plan(), About(queries=queries)).cost_optimized.reads == 2


def test_queries_of_other_models_are_left_out() -> None:
    about = About(
        models=("model.counts",),
        queries=(Query("a", models=("scored", "clicks")), Query("b", models=("counts",))),
        separations=(
            SeparationReason("counts", "it keeps state"),
            SeparationReason("scored", "of another kind"),
        ),
    )
    explanation = explain(shop_plan.optimized_plan(), about)
    assert [query.name for query in explanation.queries] == ["b"]
    assert [separation.model for separation in explanation.separations] == ["counts"]
