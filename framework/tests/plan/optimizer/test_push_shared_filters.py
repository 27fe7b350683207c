from support.plan_text import plan_text
from support.plans import (
    applied,
    becomes,
    by,
    group,
    opaque,
    plan,
    select,
    sql,
    stays,
    topic,
    union,
    watermark,
    where,
)

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Plan
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rules.push_filters import push_filters
from millstream.plan.optimizer.rules.push_shared_filters import push_shared_filters


def _shared(*readers, source=None):
    """Let each tuple of conditions filter one repartition by `a`."""
    shared = by(source or topic("a", "b"), "a")
    return plan(*(where(shared, *reader, model=f"m{i}") for i, reader in enumerate(readers)))


def test_what_all_ask_goes_below_and_an_or_of_the_rest():
    becomes(
        push_shared_filters,
        _shared(("a > 1", "b = 1"), ("b = 2", "a > 1")),
        """
        sink m
          filter b = 1
            events_by_key_filtered = filter a > 1 and (b = 1 or b = 2)
              repartition by a
                decode json: a, b
                  topic events
        sink m2
          filter b = 2
            ^ events_by_key_filtered
        """.replace("(b = 1 or b = 2)", "((b = 1) or (b = 2))"),
    )


def test_a_reader_that_asks_nothing_else_has_no_filter_any_more():
    becomes(
        push_shared_filters,
        _shared(("a > 1",), ("a > 1", "b = 2")),
        """
        sink m
          events_by_key_filtered = filter a > 1
            repartition by a
              decode json: a, b
                topic events
        sink m2
          filter b = 2
            ^ events_by_key_filtered
        """,
    )


def test_an_alternative_within_another_is_not_said():
    after = applied(push_shared_filters, _shared(("a > 1",), ("a > 1", "b = 2"), ("b = 3",)))
    (filtered,) = after.outputs[2].inputs[0].inputs
    assert [str(c) for c in filtered.conditions] == ["(a > 1) or (b = 3)"]


def test_with_push_filters_it_comes_to_an_end_below_the_shared_step():
    before = _shared(
        ("k > 1", "b = 1"), ("b = 2",), source=select(topic("x", "b"), "k = x + 1", "a = x", "b")
    )
    optimized = optimize_plan(before, (push_filters, push_shared_filters)).plan
    assert (
        plan_text(optimized)
        == """\
sink m
  filter k > 1 and b = 1
    events_filtered_selected_by_key = repartition by a
      project k = x + 1, a = x, b
        filter (((b = 1) and ((x + 1) > 1)) or (b = 2))
          decode json: x, b
            topic events
sink m2
  filter b = 2
    ^ events_filtered_selected_by_key
"""
    )


def test_two_shared_steps_above_each_other_come_to_an_end():
    low = by(topic("a", "b", "c"), "a")
    high = by(low, "b")
    nodes = [where(high, "a = 1"), where(high, "b = 2"), where(low, "c = 3")]
    optimized = optimize_plan(plan(*nodes), (push_filters, push_shared_filters)).plan
    assert (
        plan_text(optimized)
        == """\
sink m
  filter a = 1
    events_filtered_by_key_filtered_by_key = repartition by b
      filter ((a = 1) or (b = 2))
        events_filtered_by_key = repartition by a
          filter (((a = 1) or (b = 2)) or (c = 3))
            decode json: a, b, c
              topic events
sink m2
  filter b = 2
    ^ events_filtered_by_key_filtered_by_key
sink m3
  filter c = 3
    ^ events_filtered_by_key
"""
    )


def test_one_reader_without_a_filter_prevents_it():
    shared = by(topic("a"), "a")
    stays(push_shared_filters, plan(where(shared, "a > 1"), where(shared, "a > 2"), shared))


def test_a_group_that_reads_all_rows_prevents_it():
    shared = by(topic("a"), "a")
    stays(push_shared_filters, plan(where(shared, "a > 1"), group(shared, ("a",), "n = count(*)")))


def test_opaque_sql_prevents_it():
    shared = by(topic("a"), "a")
    stays(push_shared_filters, plan(where(shared, "a > 1"), opaque(shared)))


def test_what_can_fail_is_not_asked_of_the_rows_of_others():
    stays(push_shared_filters, _shared(("1 / a > 1",), ("1 / a > 1",)))


def test_python_is_not_called_twice():
    stays(push_shared_filters, _shared(("py_ok(a)",), ("py_ok(b)",)))


def test_nothing_is_taken_from_behind_what_is_not_deterministic():
    stays(push_shared_filters, _shared(("rand() < 1", "a > 1"), ("a > 1",)))


def test_an_or_is_not_asked_where_nothing_is_saved():
    events = watermark(topic("a", "ts"))
    stays(push_shared_filters, plan(where(events, "a > 1"), where(events, "a < 0")))


def test_an_or_that_is_asked_below_is_not_asked_again():
    filtered = where(topic("a", "b"), "a > 1", "(b = 1) or (b = 2)")
    stays(push_shared_filters, _shared(("b = 1",), ("b = 2",), source=filtered))


def test_an_or_that_is_asked_on_one_side_of_a_union_is_asked():
    one = where(topic("a", "b", name="one"), "(b = 1) or (b = 2)")
    other = topic("a", "b", name="other")
    after = applied(push_shared_filters, _shared(("b = 1",), ("b = 2",), source=union(one, other)))
    (filtered,) = after.outputs[0].inputs[0].inputs
    assert filtered.conditions == (sql("(b = 1) or (b = 2)"),)


def test_one_output_that_reads_both_filters_sees_the_same_rows():
    shared = by(topic("a", "b"), "a")
    after = applied(push_shared_filters, plan(union(where(shared, "a > 1"), where(shared, "a > 1"))))
    (both,) = after.outputs[0].inputs
    assert [type(side).__name__ for side in both.inputs] == ["Filter", "Filter"]
    assert both.inputs[0] is both.inputs[1]


def test_a_model_may_switch_it_off():
    before = _shared(("a > 1",), ("a > 1",))
    assert isinstance(before, Plan)
    stays(
        push_shared_filters, before, switched_off={NodeId("model", "m1"): frozenset({"push_shared_filters"})}
    )
