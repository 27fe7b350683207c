"""Where SQL ends and a step of its own begins."""

from support.plans import by, dedupe, group, select, topic, where

from millstream.physical.emit.steps import DedupeView, SqlView, StatefulView, in_steps
from millstream.physical.emit.walk import EmitOptions
from millstream.plan.nodes import Column, Decode, Stateful
from millstream.types import INT


def leaf(node):
    return node.label if isinstance(node, Decode) else None


def test_without_such_a_node_there_are_no_steps():
    assert in_steps((select(topic("a"), "a"),), leaf).steps == ()


def test_a_dedupe_of_a_view_needs_no_other():
    found = in_steps((dedupe(by(topic("a"), "a"), "a", within="1 hour"),), leaf)
    assert found.steps == (DedupeView("events_deduplicated", "events", ("a",), "1 hour"),)
    assert found.emitted.statement() == "select\n  a\nfrom events_deduplicated"


def test_what_a_dedupe_reads_is_a_view():
    found = in_steps(
        (group(dedupe(where(topic("a"), "a > 1", label="big"), "a"), ("a",), "n = count(*)"),), leaf
    )
    assert found.steps == (
        SqlView("big", "select\n  a\nfrom events\nwhere a > 1"),
        DedupeView("big_deduplicated", "big", ("a",)),
    )
    assert "from big_deduplicated" in found.emitted.statement()


def test_keyed_state_in_python_is_a_step():
    made = (Column("seen", INT),)
    node = Stateful(input=by(topic("a", "b"), "a"), function="visits", keys=("a",), made=made, models=("m",))
    (step,) = in_steps((select(node, "seen"),), leaf).steps
    assert step == StatefulView("events_visits", "events", "visits", ("a",), made)


def test_rows_brought_together_for_a_dedupe_and_others_are_a_view():
    together = by(where(topic("a", "b"), "b > 1"), "a")
    found = in_steps(
        (dedupe(together, "a"), group(together, ("a",), "n = count(*)")),
        leaf,
        how=EmitOptions(shared={id(together): "repartition(2, a)"}),
    )
    first, second = found.steps
    assert isinstance(first, SqlView)
    assert "/*+ repartition(2, a) */" in first.sql
    assert isinstance(second, DedupeView)
    assert second.of == first.name
    assert f"from {first.name}" in found.emitted.statement(1)
