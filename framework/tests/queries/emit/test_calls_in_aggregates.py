"""Calls of Python functions within and above aggregates, where the record of a row is not known any more."""

from msgspec.structs import replace
from support.plans import by, group, lookup, seed, select, sql, topic, where

from millstream.plan.nodes import Decode
from millstream.plan.nodes.order import in_order
from millstream.queries.emit.error_locations import nested_calls
from millstream.queries.emit.walk import EmitOptions, emit_sql


def text(node):
    def view(leaf):
        return "events" if isinstance(leaf, Decode) else ("products" if not leaf.inputs else None)

    return emit_sql((node,), view, how=EmitOptions(locate_calls=True)).statement()


def counted(call, condition):
    node = group(topic("a", "b"), "a", f"n = {call}")
    (measure,) = node.measures
    return replace(node, measures=(replace(measure, condition=sql(condition)),))


def test_a_call_within_an_aggregate_becomes_a_column_below_it():
    node = group(by(topic("a", "b"), "a"), "a", "n = sum(py_f(b))", "most = max(py_f(b))")
    emitted = text(node)
    assert emitted.count("py_f_at(") == 1
    assert "py_f_at(named_struct('model', 'm', 'a', cast(a as string)), b) as _py_f" in emitted
    assert "sum(_py_f) as n" in emitted
    assert "max(_py_f) as most" in emitted
    assert nested_calls(in_order((node,))) == ()


def test_it_is_called_for_the_rows_that_the_aggregate_wants():
    emitted = text(counted("sum(py_f(b))", "b > 1"))
    assert (
        "py_f_at(if(b > 1, named_struct('model', 'm', 'a', cast(a as string)), null), b) as _py_f" in emitted
    )
    assert "sum(_py_f) filter (where b > 1)" in emitted


def test_a_condition_that_calls_is_a_column_too():
    emitted = text(counted("count(*)", "py_f(b) > 1"))
    assert "count(*) filter (where _py_f > 1)" in emitted


def test_a_call_above_an_aggregate_tells_the_group():
    emitted = text(select(group(topic("a", "b"), "a", "n = sum(b)"), "a", "s = py_f(n)"))
    assert "py_f_at(named_struct('model', 'm', 'a', cast(a as string)), (sum(b))) as s" in emitted


def test_a_call_above_a_join_tells_what_it_was_joined_by():
    joined = lookup(topic("a", "b"), seed("id"), "a = id")
    emitted = text(where(select(joined, "key = a", "b"), "py_f(b) > 1"))
    assert "py_f_at(named_struct('model', 'm', 'key', cast(" in emitted


def test_calls_in_calls_and_calls_without_arguments():
    emitted = text(select(topic("a"), "s = py_f(py_g())"))
    assert "py_f_at(named_struct('model', 'm'), py_g_at(named_struct('model', 'm')))" in emitted


def test_a_call_in_a_struct_stays_within():
    node = group(topic("a", "b"), "a", "n = collect_list(struct(py_f(b)))")
    assert nested_calls(in_order((node,))) == ("py_f",)
    assert "collect_list(struct(py_f(b)))" in text(node)
