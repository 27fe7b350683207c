"""Where SQL ends and a step of its own begins."""

from inspect import cleandoc

from msgspec.structs import replace
from support.plans import by, dedupe, group, lookup, seed, select, topic, union, where

from millstream.core.node_id import NodeId
from millstream.core.types import INT
from millstream.plan.nodes import Column, Decode, SeedScan, Stateful
from millstream.queries.emit.steps import DedupeView, SqlView, StatefulView, in_steps
from millstream.queries.emit.walk import EmitOptions


def leaf(node):
    return node.label if isinstance(node, Decode | SeedScan) else None


def test_without_such_a_node_there_are_no_steps():
    assert in_steps((select(topic("a"), "a"),), leaf).steps == ()


def test_a_dedupe_of_a_view_needs_no_other():
    planned = in_steps((dedupe(by(topic("a"), "a"), "a", within="1 hour"),), leaf)
    assert planned.steps == (DedupeView("events_deduplicated", "events", ("a",), "1 hour"),)
    assert planned.emitted.statement() == "select\n  a\nfrom events_deduplicated"


def test_what_a_dedupe_reads_is_a_view():
    planned = in_steps(
        (group(dedupe(where(topic("a"), "a > 1", label="big"), "a"), ("a",), "n = count(*)"),), leaf
    )
    assert planned.steps == (
        SqlView("big", "select\n  a\nfrom events\nwhere a > 1"),
        DedupeView("big_deduplicated", "big", ("a",)),
    )
    assert "from big_deduplicated" in planned.emitted.statement()


def test_keyed_state_in_python_is_a_step():
    columns = (Column("seen", INT),)
    node = Stateful(
        input=by(topic("a", "b"), "a"),
        function="visits",
        keys=("a",),
        generated=columns,
        models=(NodeId("model", "m"),),
    )
    (step,) = in_steps((select(node, "seen"),), leaf).steps
    assert step == StatefulView("events_visits", "events", "visits", ("a",), columns)


def test_rows_brought_together_for_a_dedupe_and_others_are_a_view():
    together = by(where(topic("a", "b"), "b > 1"), "a")
    planned = in_steps(
        (dedupe(together, "a"), group(together, ("a",), "n = count(*)")),
        leaf,
        how=EmitOptions(shared={id(together): "repartition(2, a)"}),
    )
    first, second = planned.steps
    assert isinstance(first, SqlView)
    assert "/*+ repartition(2, a) */" in first.sql
    assert isinstance(second, DedupeView)
    assert second.of == first.name
    assert f"from {first.name}" in planned.emitted.statement(1)


def above_state(kind):
    firsts = dedupe(by(topic("a", "b"), "a"), "a")
    return replace(lookup(firsts, seed("a", "price"), "a = r_a", kind), broadcast=True)


def statement(node):
    return in_steps((node,), leaf).emitted.statement().replace("  -- m\n", "")


def test_an_inner_lookup_above_state_is_a_left_join():
    assert statement(select(above_state("inner"), "b", "price")) == cleandoc(
        """
        with products_found as (
          select
            a,
            price,
            true as _found
          from products
        )
        select /*+ broadcast(products_found) */
          events_deduplicated.b,
          products_found.price
        from events_deduplicated
        left join products_found on events_deduplicated.a = products_found.a
        where (products_found._found or spark_partition_id() < 0)
        """
    )


def test_a_semi_lookup_above_state_is_a_condition():
    assert statement(select(where(above_state("semi"), "b > 1"), "b")) == cleandoc(
        """
        with events_joined as (
          select
            events_deduplicated.a,
            events_deduplicated.b
          from events_deduplicated
          where (exists (select /*+ broadcast(products) */ 1 from products where events_deduplicated.a = products.a) or spark_partition_id() < 0)
        )
        select
          b
        from events_joined
        where b > 1
        """
    )


def test_each_reader_of_a_lookup_above_state_has_its_own_copy():
    """Spark would put one copy behind an exchange, and its state would have another place in the checkpoint."""
    joined = above_state("left")
    both = statement(union(where(joined, "price > 1"), where(joined, "price < 1")))
    assert both.count("from events_deduplicated") == 2
