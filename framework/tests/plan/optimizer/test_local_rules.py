"""Rules of one node: the driver walks, rebuilds what stands above, and asks who switched a rule off."""

from __future__ import annotations

from msgspec.structs import replace
from support.plan_text import plan_text
from support.plans import output, plan, select, topic, where

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Filter, Plan
from millstream.plan.optimizer.context import PlanChange, PlanHints, RuleContext
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.local import Rewrite, RewriteContext, local_rule


def _wide(node: Filter, _context: RuleContext) -> bool:
    return len(node.conditions) > 1


@local_rule(Filter, _wide)
def keep_first(node: Filter, site: RewriteContext) -> Rewrite | None:
    """Keep the first condition alone: wrong, and easy to see."""
    if site.shared(node.input) or not site.readers:
        return None
    return Rewrite(replace(node, conditions=node.conditions[:1]), (PlanChange("one is kept", node.models),))


def test_a_rule_has_the_name_and_the_place_of_its_function():
    assert keep_first.__name__ == "keep_first"
    assert keep_first.__module__ == __name__


def test_what_stands_above_is_rebuilt_and_the_rest_is_the_same_object():
    left = where(topic("a", "b"), "a > 1", "b > 1")
    right = select(topic("a", "b", name="others"), "a")
    before = plan(select(left, "c = a"), right)
    optimized = optimize_plan(before, (keep_first,))
    assert [(step.rule, [change.what for change in step.changes]) for step in optimized.steps] == [
        ("keep_first", ["one is kept"])
    ]
    assert "filter a > 1\n" in plan_text(optimized.plan)
    assert optimized.plan.outputs[1] is before.outputs[1]


def test_a_plan_without_a_match_is_returned_as_it_is():
    before = plan(where(topic("a", "b"), "a > 1"))
    after, changes = keep_first(before, RuleContext(before, PlanHints(), {}))
    assert after is before
    assert changes == ()


def test_a_model_that_switched_it_off_is_left_alone():
    before = plan(where(topic("a", "b"), "a > 1", "b > 1", model="m"))
    off = {NodeId("model", "m"): frozenset(("keep_first",))}
    assert optimize_plan(before, (keep_first,), switched_off=off).plan is before


def test_what_several_read_is_known_after_it_changed():
    shared = where(topic("a", "b"), "a > 1", "b > 1")
    before = Plan(
        (output(where(shared, "a > 2", "b > 2"), "m"), output(where(shared, "a > 3", "b > 3"), "m2"))
    )
    after = optimize_plan(before, (keep_first,)).plan
    # The shared filter itself is narrowed; those above it read what is shared, though it is new.
    assert plan_text(after).count("and") == 2
