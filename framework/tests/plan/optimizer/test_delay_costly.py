from hypothesis import given
from hypothesis import strategies as st
from support.plans import applied, becomes, plan, sql, stays, topic, where

from millstream.core.node_id import NodeId
from millstream.plan.optimizer.context import PlanHints
from millstream.plan.optimizer.rules.delay_costly import _Ranked, delay_costly, in_best_order


def test_cheap_conditions_come_first_and_python_sees_what_is_left():
    becomes(
        delay_costly,
        plan(where(topic("a", "b"), "py_ok(a)", "b rlike 'x+'", "a > 1")),
        """
        sink m
          filter py_ok(a)
            filter a > 1 and b rlike 'x+'
              decode json: a, b
                topic events
        """,
    )


def test_conditions_of_one_cost_stay_as_they_are_written():
    stays(delay_costly, plan(where(topic("a", "b"), "b > 1", "a = 1")))


def test_what_can_fail_stays_behind_what_protects_it():
    becomes(
        delay_costly,
        plan(where(topic("a"), "a rlike 'x'", "1 / a > 2", "a > 1")),
        """
        sink m
          filter a > 1 and a rlike 'x' and 1 / a > 2
            decode json: a
              topic events
        """,
    )


def test_what_can_fail_does_not_come_before_python():
    becomes(
        delay_costly,
        plan(where(topic("a"), "a > 0", "py_ok(a)", "1 / a > 2")),
        """
        sink m
          filter py_ok(a) and 1 / a > 2
            filter a > 0
              decode json: a
                topic events
        """,
    )


def test_nothing_passes_what_is_not_deterministic():
    stays(delay_costly, plan(where(topic("a"), "a rlike 'x'", "rand() < 0.5", "a > 1")))


def test_filters_above_each_other_are_ordered_together():
    becomes(
        delay_costly,
        plan(where(where(topic("a"), "py_ok(a)"), "a > 1")),
        """
        sink m
          filter py_ok(a)
            filter a > 1
              decode json: a
                topic events
        """,
    )


def test_a_filter_that_others_read_is_not_touched():
    lower = where(topic("a"), "py_ok(a)")
    stays(delay_costly, plan(where(lower, "a > 1"), lower))


def test_of_two_functions_the_cheaper_comes_first_if_it_never_fails():
    hints = PlanHints(costs={"py_slow": "high", "py_fast": "low"})
    slow = sql("py_slow(a)")
    fast = sql("py_fast(a)")
    from msgspec.structs import replace

    node = replace(where(topic("a"), "a > 1"), conditions=(slow, replace(fast, raises=False)))
    becomes(
        delay_costly,
        plan(node),
        """
        sink m
          filter py_fast(a) and py_slow(a)
            decode json: a
              topic events
        """,
        hints,
    )


def test_the_filter_of_the_model_that_keeps_less_comes_first():
    many = where(topic("a"), "a > 1", model="many")
    becomes(
        delay_costly,
        plan(where(many, "a < 9", model="few")),
        """
        sink m
          filter a < 9 and a > 1
            decode json: a
              topic events
        """,
        PlanHints(keeps={NodeId("model", "many"): 0.9, NodeId("model", "few"): 0.1}),
    )


def test_the_name_stays_on_top():
    (top,) = (
        applied(delay_costly, plan(where(topic("a"), "py_ok(a)", "a > 1", label="good"))).outputs[0].inputs
    )
    assert (top.label, top.input.label) == ("good", "")


def test_a_model_may_switch_it_off():
    before = plan(where(topic("a"), "py_ok(a)", "a > 1", model="x"))
    stays(delay_costly, before, switched_off={NodeId("model", "x"): frozenset({"delay_costly"})})


_CONDITIONS = st.lists(
    st.builds(
        lambda text, rank: _Ranked(sql(text), (rank, 1.0), ()),
        st.sampled_from(["a > 1", "b > 1", "1 / a > 1", "rand() < a"]),
        st.integers(0, 3),
    ),
    max_size=8,
)


@given(_CONDITIONS)
def test_an_order_that_is_best_stays(conditions):
    best = in_best_order(conditions)
    assert in_best_order(best) == best


@given(_CONDITIONS)
def test_what_can_fail_keeps_what_was_before_it(conditions):
    marked = [ranked._replace(models=(str(i),)) for i, ranked in enumerate(conditions)]
    best = in_best_order(marked)
    for ranked in marked:
        if ranked.condition.raises or not ranked.condition.deterministic:
            assert set(marked[: marked.index(ranked)]) <= set(best[: best.index(ranked)])
