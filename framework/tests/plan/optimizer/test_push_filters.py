import pytest
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
    topic,
    union,
    watermark,
    where,
)

from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT
from millstream.plan.nodes import Aggregate, Item, Union
from millstream.plan.optimizer.context import PlanHints, RuleContext
from millstream.plan.optimizer.rules.push_filters import push_filters


def test_a_filter_goes_below_a_key_changing_select_and_its_repartition():
    keyed = by(select(topic("person", "value"), "k = substring(person, 1, 5)", "value"), "k")
    becomes(
        push_filters,
        plan(where(keyed, "value > 10", "k = 'ab'")),
        """
        sink m
          repartition by k
            project k = substring(person, 1, 5), value
              filter value > 10 and (substring(person, 1, 5)) = 'ab'
                decode json: person, value
                  topic events
        """,
    )


def test_a_filter_goes_as_deep_as_it_can_in_one_go():
    node = topic("x")
    for _ in range(60):
        node = select(by(node, "x"), "x = x")
    after = applied(push_filters, plan(where(node, "x > 1")))
    node = after.outputs[0]
    for _ in range(121):
        (node,) = node.inputs
    assert type(node).__name__ == "Filter"


def test_each_condition_goes_on_its_own():
    scored = select(topic("type", "x"), "type", "score = py_score(x)")
    becomes(
        push_filters,
        plan(where(by(scored, "type"), "type = 'view'", "score > 3")),
        """
        sink m
          repartition by type
            filter score > 3
              project type, score = py_score(x)
                filter type = 'view'
                  decode json: type, x
                    topic events
        """,
    )


def test_a_costly_expression_is_not_calculated_twice():
    stays(push_filters, plan(where(select(topic("x"), "a = from_json(x)"), "a > 1")))


def test_a_condition_that_can_fail_stays_behind_those_that_protect_it():
    stays(
        push_filters, plan(where(by(select(topic("x"), "s = py_f(x)", "x"), "x"), "rand() < x", "1 / x > 2"))
    )


def test_a_condition_that_can_fail_goes_along_with_those_that_protect_it():
    becomes(
        push_filters,
        plan(where(by(topic("x"), "x"), "x <> 0", "1 / x > 2")),
        """
        sink m
          repartition by x
            filter x <> 0 and 1 / x > 2
              decode json: x
                topic events
        """,
    )


def test_a_filter_below_keeps_a_condition_that_can_fail_above_it():
    scored = where(select(topic("x"), "x", "s = py_f(x)"), "s > 1")
    stays(push_filters, plan(where(scored, "1 / x > 2")))


def test_a_condition_passes_a_filter_that_stays():
    scored = where(select(topic("x"), "x", "s = py_f(x)"), "s > 1")
    becomes(
        push_filters,
        plan(where(scored, "x > 2")),
        """
        sink m
          filter s > 1
            project x, s = py_f(x)
              filter x > 2
                decode json: x
                  topic events
        """,
    )


@pytest.mark.parametrize(
    "before",
    [
        where(by(topic("x"), "x"), "rand() < 0.5"),
        where(by(topic("x"), "x"), "rand() < 0.5", "x > 1"),
        where(select(topic("x"), "x", "r = rand()"), "x > 1"),
        where(watermark(topic("x", "ts")), "ts > '2020-01-01'"),
        where(dedupe(topic("x", "y"), "x"), "y > 1"),
        where(dedupe(topic("x", "y"), "x"), "1 / x > 1"),
        where(explode(topic("x"), "explode(x)", "item"), "item > 1"),
        where(explode(topic("x"), "explode(x)", "item"), "1 / x > 1"),
        where(group(by(topic("x"), "x"), ("x",), "n = count(*)"), "n > 1"),
        where(group(by(topic("x"), "x"), ("x",), "n = count(*)"), "1 / x > 1"),
        where(
            group(by(watermark(topic("x", "ts")), "x"), ("x", "w = window(ts, '5 minutes')"), "n = count(*)"),
            "w.start > '2020'",
        ),
        where(group(by(topic("x")), (), "n = count(*)"), "1 = 0"),
        where(opaque(topic("x")), "x > 1"),
        where(topic("id", "v", unique_by=("id",)), "v > 1"),
    ],
    ids=lambda node: f"{type(node.input).__name__}: {node.conditions[0]}",
)
def test_it_stays(before):
    stays(push_filters, plan(before))


def test_a_filter_does_not_cross_what_others_read():
    shared = by(topic("x"), "x")
    stays(push_filters, plan(where(shared, "x > 1"), shared))


def test_an_aggregate_has_fewer_groups_when_the_filter_is_on_its_keys():
    counted = group(by(topic("x", "y"), "x"), ("k = x",), "n = count(*)")
    becomes(
        push_filters,
        plan(where(counted, "k > 1", "n > 2")),
        """
        sink m
          filter n > 2
            aggregate n = count(*) by k = x (on change)
              repartition by x
                filter x > 1
                  decode json: x, y
                    topic events
        """,
    )


def test_nothing_below_a_watermark_that_follows_all_rows():
    becomes(
        push_filters,
        plan(where(watermark(topic("x", "ts")), "x > 1", "ts > '2020'")),
        """
        sink m
          filter x > 1 and ts > '2020'
            watermark ts delay 10 seconds
              decode json: x, ts
                topic events
        """,
    )


def test_a_dedupe_sees_fewer_keys():
    becomes(
        push_filters,
        plan(where(dedupe(topic("x", "y"), "X"), "x > 1")),
        """
        sink m
          dedupe X
            filter x > 1
              decode json: x, y
                topic events
        """,
    )


def test_an_expansion_that_keeps_all_rows_is_crossed_by_what_can_fail():
    becomes(
        push_filters,
        plan(where(explode(topic("x"), "explode(x)", "item", outer=True), "1 / x > 1")),
        """
        sink m
          expand outer explode(x) as item
            filter 1 / x > 1
              decode json: x
                topic events
        """,
    )


def test_a_union_is_filtered_on_both_sides_by_position():
    both = union(topic("x", "y", name="a"), topic("p", "q", name="b"))
    becomes(
        push_filters,
        plan(where(both, "y > 1")),
        """
        sink m
          union
            filter y > 1
              decode json: x, y
                topic a
            filter q > 1
              decode json: p, q
                topic b
        """,
    )


def test_a_union_of_one_relation_with_itself_filters_it_once():
    events = topic("x")
    becomes(
        push_filters,
        plan(where(union(events, events), "x > 1")),
        """
        sink m
          union
            events_filtered = filter x > 1
              decode json: x
                topic events
            ^ events_filtered
        """,
    )


def test_a_union_of_other_types_keeps_its_filter():
    both = Union(sides=(topic("x", name="a"), topic("x", name="b")), types=(BIGINT,))
    stays(push_filters, plan(where(both, "x > 1")))


_LEFT, _RIGHT = topic("a", "x", name="l"), topic("b", "y", name="r")


@pytest.mark.parametrize(
    ("kind", "condition", "side"),
    [
        ("inner", "x > 1", "left"),
        ("inner", "y > 1", "right"),
        ("left", "x > 1", "left"),
        ("left", "y > 1", None),
        ("left", "y is null", None),
        ("right", "x > 1", None),
        ("right", "y > 1", "right"),
        ("full", "x > 1", None),
        ("full", "y > 1", None),
        ("semi", "x > 1", "left"),
        ("anti", "x > 1", "left"),
        ("inner", "x > y", None),
        ("inner", "1 / x > 1", None),
        ("inner", "py_f(x) > 1", None),
        ("full", "1 = 0", None),
        ("right", "1 = 0", "right"),
    ],
)
def test_sides_of_joins(kind, condition, side):
    before = plan(where(join(_LEFT, _RIGHT, "a = b", kind), condition))
    after = applied(push_filters, before)
    if side is None:
        assert after is before
    else:
        (joined,) = after.outputs[0].inputs
        assert [type(node).__name__ for node in joined.inputs] == (
            ["Filter", "Decode"] if side == "left" else ["Decode", "Filter"]
        )


@pytest.mark.parametrize(
    ("kind", "condition", "side"),
    [
        ("inner", "x > 1", "left"),
        ("inner", "y > 1", "right"),
        ("left", "x > 1", None),
        ("left", "y > 1", "right"),
        ("right", "x > 1", "left"),
        ("right", "y > 1", None),
        ("full", "x > 1", None),
        ("semi", "x > 1", "left"),
        ("semi", "y > 1", "right"),
        ("anti", "x > 1", None),
        ("anti", "y > 1", "right"),
        ("left", "1 / y > 1", None),
        ("left", "y > rand()", None),
        ("inner", "1 = 1", None),
    ],
)
def test_what_on_says_of_one_side(kind, condition, side):
    before = plan(join(_LEFT, _RIGHT, f"a = b and {condition}", kind))
    after = applied(push_filters, before)
    if side is None:
        assert after is before
    else:
        (joined,) = after.outputs[0].inputs
        assert [str(condition) for condition in joined.on] == ["a = b"]
        assert [type(node).__name__ for node in joined.inputs] == (
            ["Filter", "Decode"] if side == "left" else ["Decode", "Filter"]
        )


def test_a_join_on_one_side_alone_is_not_made_a_join_on_nothing():
    stays(push_filters, plan(join(_LEFT, _RIGHT, "y > 1", "left")))


def test_a_condition_on_a_renamed_column_of_the_right_side():
    joined = lookup(topic("id", "x"), seed("id", "price"), "id = r_id")
    becomes(
        push_filters,
        plan(where(joined, "r_id > 3")),
        """
        sink m
          inner lookup on id = r_id
            decode json: id, x
              topic events
            filter id > 3
              seed seed.products: id, price
        """,
    )


def test_a_left_lookup_keeps_all_rows_so_that_what_can_fail_may_go_first():
    joined = lookup(topic("id", "x"), seed("pid"), "id = pid", "left")
    becomes(
        push_filters,
        plan(where(joined, "py_ok(x)")),
        """
        sink m
          left lookup on id = pid
            filter py_ok(x)
              decode json: id, x
                topic events
            seed seed.products: pid
        """,
    )


def test_a_changing_stream_still_sees_what_its_lookup_lost():
    changing = topic("id", "x", unique_by=("id",))
    stays(push_filters, plan(where(lookup(changing, seed("pid", "y"), "id = pid"), "y > 1")))
    stays(push_filters, plan(lookup(changing, seed("pid", "y"), "id = pid and y > 1")))


def test_a_filter_over_rows_that_change_still_stands_over_such_rows():
    changing = select(topic("id", "v", unique_by=("id",)), "id", "w = v + 1")
    becomes(
        push_filters,
        plan(output(where(changing, "w > 1"), "m", "id")),
        """
        sink m by id
          project id, w = v + 1
            filter (v + 1) > 1
              decode json: id, v
                topic events
        """,
    )


def test_the_name_of_a_filter_goes_to_what_stands_in_its_place():
    keyed = by(select(topic("x"), "x", label="source"), "x")
    after = applied(push_filters, plan(where(keyed, "x > 1", label="large", model="b")))
    (top,) = after.outputs[0].inputs
    (middle,) = top.inputs
    (low,) = middle.inputs
    assert [(n.label, n.models) for n in (top, middle, low)] == [
        ("large", ("model.m", "model.b")),
        ("", ("model.m",)),
        ("", ("model.b",)),
    ]


def test_a_filter_that_keeps_a_condition_keeps_its_name():
    counted = group(by(topic("x"), "x"), ("x",), "n = count(*)", label="counts")
    after = applied(push_filters, plan(where(counted, "x > 1", "n > 2", label="large")))
    (top,) = after.outputs[0].inputs
    assert (top.label, top.inputs[0].label) == ("large", "")


def test_a_model_may_switch_it_off():
    before = plan(where(by(topic("x"), "x"), "x > 1", model="b"))
    stays(push_filters, before, switched_off={NodeId("model", "b"): frozenset({"push_filters"})})
    stays(push_filters, before, switched_off={NodeId("model", "m"): frozenset({"push_filters"})})


def test_a_change_says_what_was_crossed():
    before = plan(where(by(select(topic("x"), "a = x + 1"), "a"), "a > 1"))
    _, changes = push_filters(before, RuleContext(before, PlanHints(), {}))
    assert [(c.what, c.models) for c in changes] == [
        ("a > 1 is applied before the projection, the repartition by a", ("model.m",))
    ]


def test_a_key_that_is_no_column_is_not_crossed():
    counted = group(topic("x"), ("k = x",), "n = count(*)")
    odd = Aggregate(
        input=counted.input,
        keys=(Item("k", select(topic("x"), "k = x + 1").items[0].expression),),
        measures=counted.measures,
    )
    stays(push_filters, plan(where(odd, "k > 1")))
