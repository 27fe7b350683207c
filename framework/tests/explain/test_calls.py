"""How Python functions run."""

from msgspec.structs import replace
from support.plans import by, explode, group, plan, select, topic, where

from millstream.core.node_id import NodeId
from millstream.core.types import INT
from millstream.explain.calls import python_calls
from millstream.plan.nodes import Column, Maintained, Stateful
from millstream.plan.nodes.maintenance import Maintenance


def test_a_call_sees_the_rows_that_filters_below_it_leave() -> None:
    (call,) = python_calls(plan(select(where(topic("a", "b"), "a > 1"), "x = py_f(b)")), {})
    assert (call.function, call.node, call.text, call.times) == ("py_f", "m.select", "py_f(b)", 1)
    assert call.rows == "rows of events where a > 1"


def test_the_rows_of_an_aggregate_are_its_groups() -> None:
    grouped = group(by(where(topic("a"), "a > 1"), "a"), ("a",), "n = count(a)", label="counts")
    (call,) = python_calls(plan(select(grouped, "x = py_f(n)")), {})
    assert call.rows == "rows of m.counts"


def test_a_condition_is_asked_of_the_rows_below_it() -> None:
    (call,) = python_calls(plan(where(where(topic("a"), "a > 1"), "py_f(a) > 1")), {})
    assert call.rows == "rows of events where a > 1"


def test_a_call_that_stands_twice_in_an_expression_runs_twice() -> None:
    (call,) = python_calls(plan(select(topic("a"), "x = py_f(a) + py_f(a)")), {})
    assert call.times == 2


def test_a_table_function_is_a_call() -> None:
    (call,) = python_calls(
        plan(replace(explode(topic("a"), "parse(a)", "one"), function="parse", python=True)), {}
    )
    assert call.function == "parse"


def test_spark_generators_are_none() -> None:
    assert python_calls(plan(explode(topic("a"), "explode(a)", "one")), {}) == []


def test_a_keyed_function_keeps_state_by_its_key() -> None:
    stateful = Stateful(
        input=by(topic("a"), "a"), function="sessions", keys=("a",), generated=(Column("x", INT),)
    )
    (call,) = python_calls(plan(stateful), {})
    assert "state by a" in call.runs


def test_a_call_runs_natively_unless_something_prevents_it() -> None:
    calling = plan(select(topic("a"), "x = py_f(a)"))
    (native,), (python,) = python_calls(calling, {}), python_calls(calling, {"py_f": "`try` in line 3"})
    assert native.runs == "natively in the JVM"
    assert python.runs == "Python over Arrow batches, because of `try` in line 3"


def test_a_table_over_tables_calls_functions_in_its_sql() -> None:
    table = Maintained(
        table=NodeId("model", "m"),
        reads=(topic("a"),),
        maintenance=Maintenance(
            (NodeId("source", "events"),), "select a, py_f(a) as x from events", by=("a",)
        ),
        keys=("a",),
        called=("py_f",),
        columns=(Column("a", INT), Column("x", INT)),
    )
    (call,) = python_calls(plan(table), {})
    assert (call.function, call.text, call.runs) == ("py_f", "py_f(…)", "natively in the JVM")
    assert call.rows == "its rows with touched values of a, and those as they were"
