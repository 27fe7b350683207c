"""What plans cost."""

import pytest
import shop_plan
from msgspec.structs import replace
from support.plans import by, dedupe, explode, group, join, output, plan, select, topic, union, where

from millstream.core.node_id import NodeId
from millstream.explain.savings import (
    Cost,
    Costs,
    add_costs,
    cost_table,
    in_words,
    plan_cost,
    savings_in_words,
    separate_outputs,
    subtract_costs,
)
from millstream.plan.nodes import Plan
from millstream.plan.optimizer.context import PlanHints


def test_what_is_counted() -> None:
    assert plan_cost(shop_plan.optimized()) == Cost(
        reads=1,
        decodes=1,
        decoded_fields=4,
        shuffles=1,
        shuffled_columns=4,
        states=1,
        projections=1,
        python_calls=1,
        topics_written=2,
    )


def test_alone_every_output_pays_for_what_it_reads() -> None:
    written = shop_plan.written()
    assert plan_cost(written).reads == 2
    assert plan_cost(written, separate_outputs(written)).reads == 3


def test_what_two_queries_need_is_paid_twice() -> None:
    shared = shop_plan.optimized()
    scored, counts, clicks = shared.outputs
    assert plan_cost(shared, [[scored, clicks], [counts]]).decodes == 2


def test_a_topic_of_the_project_is_read_back() -> None:
    back = topic("a", name="clicks")
    back = replace(back, input=replace(back.inputs[0], relation=NodeId("model", "clicks")))
    assert plan_cost(plan(back)).topics_read_back == 1
    assert plan_cost(plan(topic("a"))).topics_read_back == 0


@pytest.mark.parametrize(
    ("node", "states"),
    [
        (dedupe(by(topic("a"), "a"), "a"), 1),
        (join(by(topic("a"), "a"), by(topic("b", name="others"), "b"), "a = b"), 1),
        (group(by(topic("a"), "a"), ("a",), "n = count(a)"), 1),
        (select(topic("a"), "a"), 0),
    ],
)
def test_what_keeps_state(node, states: int) -> None:
    assert plan_cost(plan(node)).states == states


def test_an_aggregate_of_what_is_at_rest_keeps_no_state() -> None:
    from support.plans import seed

    costs = plan_cost(plan(group(by(seed("a"), "a"), ("a",), "n = count(a)")))
    assert (costs.states, costs.shuffles) == (0, 0)


def test_every_call_of_python_counts() -> None:
    assert plan_cost(plan(select(topic("a"), "x = py_f(a) + py_f(a)", "y = py_g(a)"))).python_calls == 3
    assert plan_cost(plan(replace(explode(topic("a"), "py_f(a)", "one"), python=True))).python_calls == 1


def test_rows_a_second_follow_the_hints() -> None:
    costs = plan_cost(shop_plan.optimized(), hints=shop_plan.HINTS)
    assert (costs.rows_read, costs.rows_decoded, costs.rows_shuffled) == (1000, 1000, 300)
    assert costs.bytes_shuffled == 300 * (8 + 4 * 8)


def test_without_hints_no_rate_is_known() -> None:
    assert plan_cost(shop_plan.optimized()).rows_read is None


def test_one_rate_that_is_not_known_makes_the_sum_unknown() -> None:
    two_topics = plan(topic("a"), topic("a", name="others"))
    assert (
        plan_cost(two_topics, hints=PlanHints(rows_per_second={NodeId("source", "events"): 10.0})).rows_read
        is None
    )


def test_a_share_is_kept_once_however_the_filter_is_taken_apart() -> None:
    hints = PlanHints(rows_per_second={NodeId("source", "events"): 100.0}, keeps={NodeId("model", "m"): 0.5})
    twice = by(where(where(topic("a", "b"), "a > 1"), "b > 1"), "a")
    assert plan_cost(plan(twice), hints=hints).rows_shuffled == 50


def test_a_shared_filter_keeps_what_any_model_keeps() -> None:
    hints = PlanHints(
        rows_per_second={NodeId("source", "events"): 100.0},
        keeps={NodeId("model", "m"): 0.3, NodeId("model", "n"): 0.5},
    )
    shared = replace(where(topic("a"), "a > 1 or a < 0"), models=(NodeId("model", "m"), NodeId("model", "n")))
    assert plan_cost(plan(by(shared, "a")), hints=hints).rows_shuffled == 80


def test_a_union_adds_rates() -> None:
    hints = PlanHints(rows_per_second={NodeId("source", "events"): 100.0, NodeId("source", "others"): 10.0})
    assert (
        plan_cost(plan(by(union(topic("a"), topic("a", name="others")), "a")), hints=hints).rows_shuffled
        == 110
    )


def test_differences_and_sums() -> None:
    one, other = Cost(reads=3, rows_read=10.0), Cost(reads=1, rows_read=4.0)
    assert subtract_costs(one, other) == Cost(reads=2, rows_read=6.0)
    assert add_costs(subtract_costs(one, other), other) == one


def test_words() -> None:
    assert in_words(Cost(reads=1, decodes=2, rows_read=1234.0)) == [
        "1 read of a topic",
        "2 decodes",
        "1,234 rows/s read",
    ]


def test_what_a_rule_costs_is_said_beside_what_it_saves() -> None:
    assert savings_in_words(Cost(reads=1, decoded_fields=-2)) == "1 read of a topic for 2 decoded fields more"
    assert savings_in_words(Cost()) == ""


def test_a_table_has_the_numbers_that_are_there() -> None:
    assert cost_table(Cost(reads=2), Cost(reads=1)) == [("reads of topics", ("2", "1"))]


def test_plans_that_share_nodes_are_counted_alike_at_once_and_each_for_itself() -> None:
    costs = Costs()
    plans = [shop_plan.written(), shop_plan.optimized(), Plan((output(topic("a")),))]
    assert [costs.of(plan_) for plan_ in plans] == [plan_cost(plan_) for plan_ in plans]
