import pytest
from support.plan_text import plan_text
from support.plans import (
    applied,
    becomes,
    by,
    dedupe,
    explode,
    group,
    join,
    lookup,
    opaque,
    output,
    plan,
    seed,
    select,
    stays,
    table,
    topic,
    union,
    watermark,
    where,
)

from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT
from millstream.outputs.kinds import Sink
from millstream.plan.nodes import Item, Output, Union
from millstream.plan.optimizer.rules.prune_columns import prune_columns


def test_only_what_is_read_is_decoded_calculated_and_shuffled():
    events = select(
        topic("person", "value", "note", meta=("_offset", "_timestamp")),
        "person",
        "twice = value * 2",
        "note",
    )
    becomes(
        prune_columns,
        plan(group(by(where(events, "note > 1"), "person"), ("person",), "n = count(*)")),
        """
        sink m
          aggregate n = count(*) by person (on change)
            repartition by person
              project person
                filter note > 1
                  project person, note
                    decode json: person, note
                      topic events
        """,
    )


def test_outputs_keep_all_columns():
    stays(prune_columns, plan(select(topic("a", "b"), "a", "b")))


def test_an_output_reads_what_its_options_say():
    node = select(topic("a", "b"), "a")
    header = (Item("h", select(topic("a"), "a").items[0].expression),)
    out = Output(
        input=node,
        model=NodeId("model", "m"),
        materialization=Sink("m"),
        extras=header,
        models=(NodeId("model", "m"),),
    )
    assert "decode json: a\n" in plan_text(applied(prune_columns, plan(out)))


def test_what_different_readers_read_of_one_relation():
    events = topic("a", "b", "c")
    becomes(
        prune_columns,
        plan(select(events, "a"), by(select(events, "b"), "b")),
        """
        sink m
          project a
            events = decode json: a, b
              topic events
        sink m2
          repartition by b
            project b
              ^ events
        """,
    )


def test_a_narrow_reader_of_a_wide_relation_shuffles_little():
    events = topic("a", "b", "c")
    becomes(
        prune_columns,
        plan(events, group(by(events, "a"), ("a",), "n = sum(b)")),
        """
        sink m
          events = decode json: a, b, c
            topic events
        sink m2
          aggregate n = sum(b) by a (on change)
            repartition by a
              project a, b
                ^ events
        """,
    )


def test_a_union_loses_the_same_positions_of_all_sides():
    both = union(topic("a", "b", name="one"), topic("p", "q", name="other"))
    becomes(
        prune_columns,
        plan(select(both, "b")),
        """
        sink m
          project b
            union
              decode json: b
                topic one
              decode json: q
                topic other
        """,
    )


def test_a_side_that_reads_more_itself_is_narrowed_for_its_union():
    both = union(where(topic("a", "b", name="one"), "a > 1"), topic("p", "q", name="other"))
    becomes(
        prune_columns,
        plan(select(both, "b")),
        """
        sink m
          project b
            union
              project b
                filter a > 1
                  decode json: a, b
                    topic one
              decode json: q
                topic other
        """,
    )


def test_the_types_of_a_union_lose_the_same_positions():
    both = Union(sides=(topic("a", "b"), topic("a", "b")), types=(BIGINT, BIGINT))
    after = applied(prune_columns, plan(select(both, "b")))
    assert after.outputs[0].input.input.types == (BIGINT,)


def test_a_union_of_one_relation_with_itself_stays_so():
    events = where(topic("a", "b"), "a > 1")
    after = applied(prune_columns, plan(select(union(events, events), "b")))
    one, other = after.outputs[0].input.input.sides
    assert one is other
    assert one.names == ("b",)


def test_both_sides_of_a_join_are_narrowed():
    left = by(where(topic("a", "x", "y", name="l"), "y > 1"), "a")
    right = where(topic("b", "z", "w", name="r"), "w > 1")
    becomes(
        prune_columns,
        plan(select(join(left, right, "a = b"), "x")),
        """
        sink m
          project x
            inner join on a = b
              repartition by a
                project a, x
                  filter y > 1
                    decode json: a, x, y
                      topic l
              project b
                filter w > 1
                  decode json: b, w
                    topic r
        """,
    )


def test_a_side_of_which_nothing_is_read_keeps_one_column():
    crossed = join(topic("a", "x", name="l"), topic("b", "z", name="r"), "", "cross")
    after = applied(prune_columns, plan(select(crossed, "x")))
    assert [side.names for side in after.outputs[0].input.input.inputs] == [("x",), ("b",)]


def test_lookups_read_less_of_tables_and_seeds():
    joined = lookup(topic("id", "x"), table("uid", "name", "age"), "id = uid", "left")
    joined = lookup(joined, seed("pid", "price", "colour"), "x = pid", "left")
    becomes(
        prune_columns,
        plan(select(joined, "id", "age", "price")),
        """
        sink m
          project id, age, price
            left lookup on x = pid
              left lookup on id = uid
                decode json: id, x
                  topic events
                table model.users: uid, age
              seed seed.products: pid, price
        """,
    )


def test_measures_that_nobody_reads_are_not_kept_as_state():
    counted = group(topic("a", "b", "c"), ("a",), "n = sum(b)", "top = max(c)")
    after = applied(prune_columns, plan(output(select(counted, "a", "top"), "m", "a")))
    text = plan_text(after)
    assert "aggregate top = max(c) by a" in text
    assert "decode json: a, c\n" in text


def test_keys_of_a_group_stay():
    counted = group(topic("a", "b"), ("a", "b"), "n = count(*)", emit="on_change")
    text = plan_text(applied(prune_columns, plan(output(select(counted, "a", "b"), "m", "a", "b"))))
    assert "aggregate distinct by a, b" in text


def test_one_group_of_all_rows_keeps_a_measure():
    total = group(by(topic("a", "b")), (), "n = count(*)", "s = sum(a)")
    text = plan_text(applied(prune_columns, plan(select(total, "one = 1"))))
    assert "aggregate n = count(*) by nothing" in text


def test_rows_are_counted_by_a_column_that_costs_nothing():
    scored = select(topic("a", "b"), "s = py_score(a)", "b")
    text = plan_text(applied(prune_columns, plan(group(by(scored), (), "n = count(*)"))))
    assert "project b\n" in text


def test_the_key_of_rows_that_change_stays():
    changing = topic("id", "v", "w", unique_by=("id",))
    renamed = select(changing, "key = id", "v", "w")
    after = applied(prune_columns, plan(output(select(renamed, "key", "v"), "m", "key")))
    assert "decode json: id, v\n" in plan_text(after)


def test_the_key_stays_where_another_one_takes_its_place():
    chosen = select(topic("id", "v", "w", unique_by=("id",)), "k = v + 1", keys=("k",))
    after = applied(prune_columns, plan(output(chosen, "m", "k")))
    assert "decode json: id, v\n" in plan_text(after)


@pytest.mark.parametrize(
    ("within", "columns"), [("1 hour", "x, k, ts"), (None, "x, k, ts")], ids=["bounded", "unbounded"]
)
def test_a_dedupe_keeps_its_keys_and_the_event_time_that_forgets_them(within, columns):
    events = watermark(topic("x", "k", "ts", "y"))
    text = plan_text(applied(prune_columns, plan(select(dedupe(events, "k", within=within), "x"))))
    assert f"decode json: {columns}\n" in text


def test_the_column_of_a_watermark_stays():
    text = plan_text(applied(prune_columns, plan(select(watermark(topic("x", "ts", "y")), "x"))))
    assert "decode json: x, ts\n" in text


def test_what_an_expansion_reads_stays():
    text = plan_text(
        applied(prune_columns, plan(select(explode(topic("x", "y", "z"), "explode(y)", "i"), "x")))
    )
    assert "decode json: x, y\n" in text


def test_opaque_sql_reads_everything():
    stays(prune_columns, plan(select(opaque(topic("a", "b")), "a")))


def test_a_model_may_switch_it_off():
    before = plan(select(select(topic("a", "b"), "a", "b", model="x"), "a", model="y"))
    stays(prune_columns, before, switched_off={NodeId("model", "x"): frozenset({"prune_columns"})})
