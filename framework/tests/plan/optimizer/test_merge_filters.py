from support.plans import applied, becomes, plan, stays, topic, where

from millstream.core.node_id import NodeId
from millstream.plan.optimizer.rules.merge_filters import merge_filters


def test_filters_become_one_and_ask_each_thing_once():
    lower = where(topic("a", "b"), "a > 1", "b = 2")
    becomes(
        merge_filters,
        plan(where(lower, "b = 2", "1 / a > b")),
        """
        sink m
          filter a > 1 and b = 2 and 1 / a > b
            decode json: a, b
              topic events
        """,
    )


def test_what_is_not_deterministic_is_asked_as_often_as_it_is_written():
    becomes(
        merge_filters,
        plan(where(where(topic("a"), "rand() < 0.5"), "rand() < 0.5")),
        """
        sink m
          filter rand() < 0.5 and rand() < 0.5
            decode json: a
              topic events
        """,
    )


def test_a_filter_that_calls_python_stays_above_one_that_does_not():
    stays(merge_filters, plan(where(where(topic("a"), "a > 1"), "py_ok(a)")))


def test_filters_that_call_python_become_one():
    becomes(
        merge_filters,
        plan(where(where(topic("a"), "py_ok(a)"), "py_good(a)")),
        """
        sink m
          filter py_ok(a) and py_good(a)
            decode json: a
              topic events
        """,
    )


def test_a_filter_that_others_read_stays():
    lower = where(topic("a"), "a > 1")
    stays(merge_filters, plan(where(lower, "a > 2"), lower))


def test_it_has_the_name_of_the_upper_and_the_models_of_both():
    before = plan(where(where(topic("a"), "a > 1", label="one", model="x"), "a > 2", label="two", model="y"))
    (merged,) = applied(merge_filters, before).outputs[0].inputs
    assert (merged.label, merged.models) == ("two", ("model.x", "model.y"))


def test_a_model_may_switch_it_off():
    before = plan(where(where(topic("a"), "a > 1", model="x"), "a > 2", model="y"))
    stays(merge_filters, before, switched_off={NodeId("model", "x"): frozenset({"merge_filters"})})
