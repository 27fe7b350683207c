"""The SQL of plan nodes as people read it."""

from inspect import cleandoc

import pytest
from support.plans import (
    by,
    dedupe,
    explode,
    group,
    join,
    lookup,
    opaque,
    output,
    seed,
    select,
    sql,
    table,
    topic,
    union,
    watermark,
    where,
)

from millstream.core.expressions import Expression, Read, Ref
from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT, INT, STRING
from millstream.plan.nodes import Decode, SeedScan, TableScan
from millstream.queries.emit.text import indent_lines
from millstream.queries.emit.walk import EmitOptions, NotWritableError, emit_sql


def leaf(node):
    match node:
        case Decode() | TableScan():
            return node.label
        case SeedScan() if node.relation:
            return node.label
    return None


def text(*roots, deletes=False):
    emitted = emit_sql(roots, leaf, deletes=deletes)
    return "\n---\n".join(emitted.statement(i) for i, _ in enumerate(roots))


def writes(node, expected, *, deletes=False):
    assert text(node, deletes=deletes).replace("  -- m\n", "") == cleandoc(expected)


def test_a_projection_and_filters_are_one_select():
    writes(
        select(where(where(topic("a", "b"), "a > 1 or b > 1"), "b < 9"), "a", "c = a + b"),
        """
        select
          a,
          a + b as c
        from events
        where (a > 1 or b > 1)
          and b < 9
        """,
    )


def test_a_condition_on_a_grouped_column_is_having_with_columns_of_the_source():
    counted = group(by(where(topic("a", "b"), "b > 0"), "a"), ("k = a",), "n = count(*)", "total = sum(b)")
    writes(
        select(where(counted, "n > 2", "k > 1"), "k", "mean = total / n"),
        """
        select
          a as k,
          (sum(b)) / (count(*)) as mean
        from events
        where b > 0
        group by events.a
        having (count(*)) > 2
          and events.a > 1
        """,
    )


def test_a_window_is_selected_by_the_name_that_spark_gives_it():
    counted = group(
        by(watermark(topic("a", "ts")), "a"), ("window = window(ts, '1 hour')", "a"), "n = count(*)"
    )
    writes(
        select(counted, "a", "start = window.start", "n"),
        """
        select
          a,
          window.start as start,
          count(*) as n
        from events watermark ts delay of interval 10 seconds
        where spark_partition_id() >= 0
        group by window(events.ts, '1 hour'), events.a
        """,
    )


def test_what_is_calculated_once_is_a_cte_when_it_is_read_twice():
    writes(
        where(select(topic("a"), "b = py_score(a)", label="scored"), "b > 3"),
        """
        with scored as (
          select
            py_score(a) as b
          from events
        )
        select
          b
        from scored
        where b > 3
        """,
    )


def test_a_number_is_never_put_into_group_by_where_it_would_be_a_position():
    writes(
        group(select(topic("a"), "k = 1", "a", label="keyed"), ("k",), "n = count(*)"),
        """
        with keyed as (
          select
            1 as k,
            a
          from events
        )
        select
          k,
          count(*) as n
        from keyed
        group by keyed.k
        """,
    )


def test_a_node_that_several_read_is_one_cte():
    shared = where(topic("a", "b"), "a > 1", label="big")
    emitted = emit_sql((select(shared, "a"), select(shared, "b")), leaf)
    assert [cte.name for cte in emitted.ctes] == ["big"]
    assert [final.sql.splitlines()[-1] for final in emitted.finals] == ["from big"] * 2


def test_a_cte_never_takes_the_name_of_a_view():
    counted = group(select(topic("a"), "a", "b = py_f(a)", label="events"), ("a",), "n = max(b)")
    assert "with events_ as (" in text(counted)


def test_a_lookup_keeps_the_filters_of_the_stream_beside_it():
    writes(
        select(lookup(where(topic("a", "b"), "b > 1"), seed("a", "name"), "a = r_a", "left"), "b", "name"),
        """
        select
          events.b,
          products.name
        from events
        left join products on events.a = products.a
        where events.b > 1
        """,
    )


def test_a_filtered_seed_is_a_cte_of_its_own():
    writes(
        select(
            lookup(topic("a"), where(seed("a", "name"), "name > 1", label="named"), "a = r_a", "left"), "name"
        ),
        """
        with named as (
          select
            a,
            name
          from products
          where name > 1
        )
        select
          named.name
        from events
        left join named on events.a = named.a
        """,
    )


def test_a_stream_joined_with_itself_has_two_names():
    events = topic("a", "b")
    assert text(join(events, events, "a = r_a")).endswith(
        "from events\njoin events as events_ on events.a = events_.a"
    )


def test_columns_within_a_lambda_say_whose_they_are():
    call = Expression(
        ("transform(", Ref("a"), ", x -> x + ", Ref("x", in_lambda=True), ")"), INT, variables=frozenset("x")
    )
    node = select(topic("a", "x"), "a")
    node = type(node)(
        input=node.input, items=(type(node.items[0])("y", call),), models=(NodeId("model", "m"),)
    )
    assert "transform(events.a, x -> x + events.x) as y" in text(node)


def test_a_column_named_like_its_relation_says_so():
    assert "events.events + 1 as b" in text(select(topic("events"), "b = events + 1"))


def test_an_expansion_is_a_lateral_view():
    writes(
        where(explode(topic("a"), "explode(a)", "item", outer=True), "item > 1"),
        """
        select
          events.a,
          explode.item
        from events
        lateral view outer explode(events.a) explode as item
        where explode.item > 1
        """,
    )


def test_sides_of_a_union_are_cast_to_the_common_types():
    writes(
        select(union(topic("a"), where(topic("a", name="others"), "a > 1"), types=(BIGINT,)), "a"),
        """
        with events_united as (
          select
            cast(a as bigint) as a
          from events
          union all
          select
            cast(a as bigint) as a
          from others
          where a > 1
        )
        select
          a
        from events_united
        """,
    )


def test_rows_that_stop_matching_are_marked_where_they_are_deleted():
    counted = group(by(topic("a"), "a"), ("a",), "n = count(*)")
    writes(
        select(where(counted, "n > 2"), "a", "n"),
        """
        select
          a,
          count(*) as n,
          not coalesce((count(*)) > 2, false) as _deleted
        from events
        group by events.a
        having ((count(*)) > 2 or false /* no other version has sent rows */)
        """,
        deletes=True,
    )


def test_what_can_fail_is_not_calculated_for_rows_to_delete():
    counted = group(by(topic("a", "b"), "a"), ("a",), "n = sum(b)")
    emitted = text(select(where(counted, "n > 0", label="some"), "a", "share = 1 / n"), deletes=True)
    assert "if(_deleted, null, 1 / n) as share" in emitted


def test_shared_rows_come_together_once():
    together = by(where(topic("a", "b"), "b > 1"), "a")
    emitted = emit_sql(
        (group(together, ("a",), "n = count(*)"),),
        leaf,
        how=EmitOptions(shared={id(together): "repartition(2, a)"}),
    )
    assert emitted.ctes[0].sql == cleandoc(
        """
        select /*+ repartition(2, a) */
          a,
          b
        from events
        where b > 1
          and spark_partition_id() >= 0
        """
    )


def test_opaque_sql_reads_the_views_of_its_inputs():
    node = opaque(where(topic("a"), "a > 1", label="big"))
    node = type(node)(
        reads=node.reads, pieces=("select a from ", Read(NodeId("model", "r0")), " limit 3"), relations=node.relations,
        reasons=("odd",), columns=node.columns, models=(NodeId("model", "m"),),
    )  # fmt: skip
    assert "select a from big limit 3" in text(node)


def test_literals_keep_their_lines():
    assert indent_lines("a = 'x\ny'\nand b -- it's\nand c") == "a = 'x\ny'\n  and b -- it's\n  and c"


def test_a_dedupe_has_no_sql():
    with pytest.raises(NotWritableError, match="dedupe"):
        text(dedupe(topic("a"), "a"))


def test_an_output_is_what_it_reads():
    assert text(output(topic("a"))) == "select\n  a\nfrom events"


def test_a_subquery_reads_the_view_of_its_relation():
    node = select(topic("a"), "a")
    subquery = Expression(
        ("(select max(price) from ", Read(NodeId("seed", "products")), ")"), STRING, atomic=True
    )
    node = type(node)(
        input=node.input, items=(type(node.items[0])("top", subquery),), models=(NodeId("model", "m"),)
    )
    assert "(select max(price) from products) as top" in text(node)


def test_a_right_join_keeps_filters_of_the_left_side_below():
    emitted = text(
        join(where(topic("a"), "a > 1", label="big"), topic("a", name="others"), "a = r_a", "right")
    )
    assert emitted.startswith("with big as (")


def test_sql_of_expressions_has_their_pieces():
    assert sql("a + 1").text in text(select(topic("a"), "b = a + 1"))


def test_a_table_is_read_by_its_view():
    assert text(select(table("a"), "a")) == "select\n  a\nfrom users"
