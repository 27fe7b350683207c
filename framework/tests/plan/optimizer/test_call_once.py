from support.plans import becomes, plan, select, sql, stays, topic, where

from millstream.core.node_id import NodeId
from millstream.core.types import INT
from millstream.plan.optimizer.calls import separable_calls, with_column
from millstream.plan.optimizer.context import PlanHints
from millstream.plan.optimizer.rules.call_once import call_once


def test_a_call_in_a_filter_and_above_it_becomes_a_column():
    becomes(
        call_once,
        plan(
            select(
                where(topic("x", "y"), "py_score(x) > 10"),
                "score = py_score(x)",
                "more = py_score(x) + 1",
                "y",
            )
        ),
        """
        sink m
          project score, more = score + 1, y
            filter score > 10
              project x, y, score = py_score(x)
                decode json: x, y
                  topic events
        """,
    )


def test_a_call_in_two_items_becomes_a_column_above_the_filter():
    becomes(
        call_once,
        plan(select(where(topic("x"), "x > 1"), "score = py_score(x)", "good = py_score(x) > 3")),
        """
        sink m
          project score, good = score > 3
            project x, score = py_score(x)
              filter x > 1
                decode json: x
                  topic events
        """,
    )


def test_the_function_does_not_run_on_rows_that_earlier_conditions_drop():
    becomes(
        call_once,
        plan(select(where(topic("x"), "py_ok(x)", "py_score(x) > 1"), "s = py_score(x)")),
        """
        sink m
          project s
            filter s > 1
              project x, s = py_score(x)
                filter py_ok(x)
                  decode json: x
                    topic events
        """,
    )


def test_inner_calls_too_are_made_once():
    becomes(
        call_once,
        plan(select(topic("x"), "a = py_f(py_g(x))", "b = py_f(py_g(x))", "c = py_g(x)")),
        """
        sink m
          project a, b = a, c
            project x, c, a = py_f(c)
              project x, c = py_g(x)
                decode json: x
                  topic events
        """,
    )


def test_a_type_that_no_column_tells_comes_from_the_function():
    before = plan(select(topic("x"), "a = py_f(x) + 1", "b = py_f(x) + 2"))
    stays(call_once, before)
    becomes(
        call_once,
        before,
        """
        sink m
          project a = py_f + 1, b = py_f + 2
            project x, py_f = py_f(x)
              decode json: x
                topic events
        """,
        PlanHints(returns={"py_f": INT}),
    )


def test_a_name_that_is_taken_is_not_used():
    becomes(
        call_once,
        plan(select(topic("x"), "x = py_f(x)", "y = py_f(x)")),
        """
        sink m
          project x = x_, y = x_
            project x, x_ = py_f(x)
              decode json: x
                topic events
        """,
    )


def test_one_call_stays_where_it_is():
    stays(call_once, plan(select(where(topic("x", "y"), "py_f(x) > 1"), "a = py_f(y)")))


def test_a_call_in_a_branch_does_not_run_for_all_rows():
    before = select(
        topic("x"), "a = case when x > 1 then py_f(x) end", "b = case when x > 2 then py_f(x) end"
    )
    stays(call_once, plan(before), PlanHints(returns={"py_f": INT}))


def test_a_call_in_a_branch_of_a_filter_does_not_run_for_all_rows():
    stays(call_once, plan(select(where(topic("x"), "x > 1 or py_f(x) > 2"), "a = py_f(x)")))


def test_what_is_not_deterministic_is_called_as_often_as_it_is_written():
    stays(call_once, plan(select(topic("x"), "a = py_f(rand())", "b = py_f(rand())")))


def test_names_of_fields_are_not_changed():
    stays(call_once, plan(select(topic("x"), "a = py_f(x)", "b = struct(py_f(x))")))


def test_a_filter_that_others_read_is_not_touched():
    filtered = where(topic("x"), "py_f(x) > 1")
    stays(call_once, plan(select(filtered, "a = py_f(x)"), filtered))


def test_a_model_may_switch_it_off():
    before = plan(select(topic("x"), "a = py_f(x)", "b = py_f(x)", model="z"))
    stays(call_once, before, switched_off={NodeId("model", "z"): frozenset({"call_once"})})


def test_parentheses_and_names_within_strings_are_not_read():
    expression = sql("concat('py_f(', py_f(x, ')', (x + 1)), ')')")
    (call,) = separable_calls(expression)
    assert "".join(p if isinstance(p, str) else p.column for p in call.pieces) == "py_f(x, ')', (x + 1))"
    assert str(with_column(expression, call, "c")) == "concat('py_f(', c, ')')"
    assert with_column(expression, call, "c").functions == ()
