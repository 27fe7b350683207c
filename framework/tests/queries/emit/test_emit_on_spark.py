"""Plans as SQL give the rows that they should."""

import pytest
from support.plans import by, explode, group, join, lookup, seed, select, table, topic, union, where

from millstream.core.types import BIGINT
from millstream.plan.nodes import Decode, SeedScan, TableScan
from millstream.queries.emit.walk import EmitOptions, emit_sql


@pytest.fixture(scope="module")
def rows(spark):
    """Return the rows of a plan, over small views."""
    views = {
        "events": "values (1, 10, 'x'), (1, null, 'y'), (2, 30, 'x'), (null, 5, 'y') as t(a, b, type)",
        "products": "values (1, 100), (2, null), (2, 300) as t(a, price)",
        "users": "values (1, 7) as t(a, age)",
        "baskets": "values (1, array(1, 2)), (2, array()) as t(a, items)",
    }
    for name, text in views.items():
        spark.sql(f"select * from {text}").createOrReplaceTempView(name)

    def leaf(node):
        return node.label if isinstance(node, Decode | SeedScan | TableScan) else None

    def run(node, *, deletes=False):
        stored_rows = spark.sql(emit_sql((node,), leaf, deletes=deletes).statement()).collect()
        return sorted((tuple(row) for row in stored_rows), key=repr)

    return run


def events():
    return topic("a", "b", "type")


def test_filter_and_projection(rows):
    assert rows(select(where(events(), "b > 5", "type = 'x'"), "a", "c = b + 1")) == [(1, 11), (2, 31)]


def test_or_within_several_conditions(rows):
    assert rows(select(where(events(), "a = 1 or a = 2", "type = 'x'"), "b")) == [(10,), (30,)]


def test_groups_with_conditions_before_and_after(rows):
    counted = group(
        by(where(events(), "type = 'x' or type = 'y'"), "a"), ("k = a",), "n = count(*)", "top = max(b)"
    )
    assert rows(select(where(counted, "n > 1"), "k", "top2 = top * 2", "n")) == [(1, 20, 2)]


def test_rows_to_delete_are_told(rows):
    counted = group(by(events(), "a"), ("a",), "n = count(*)")
    result_rows = rows(select(where(counted, "n <> 1", "a > 0"), "a", "n"), deletes=True)
    assert result_rows == [(1, 2, False), (2, 1, True)]


def test_rows_that_never_matched_are_not_deleted(rows):
    counted = group(by(events(), "a"), ("a",), "n = count(*)")
    assert rows(select(where(counted, "n > 1"), "a", "n"), deletes=True) == [(1, 2, False)]


def test_division_by_what_is_deleted_does_not_fail(rows):
    counted = group(by(events(), "a"), ("a",), "n = count(b) - 1")
    result_rows = rows(select(where(counted, "n <> 0"), "a", "share = 1 / n"), deletes=True)
    assert [row[-1] for row in result_rows] == [True, True, True]


def test_an_inner_lookup_over_rows_that_change_marks_those_that_meet_none(rows):
    counted = group(by(events(), "a"), ("a",), "n = count(*)")
    result_rows = rows(select(lookup(counted, table("a", "age"), "a = r_a"), "a", "age"), deletes=True)
    assert result_rows == [(1, 7, False), (2, None, True), (None, None, True)]


@pytest.mark.parametrize(("kind", "present"), [("semi", [1, 2]), ("anti", [None])])
def test_a_semi_lookup_over_rows_that_change(rows, kind, present):
    counted = group(by(events(), "a"), ("a",), "n = count(*)")
    looked = select(lookup(counted, seed("a", "price"), "a = r_a", kind), "a", "n")
    result_rows = rows(looked, deletes=True)
    assert len(result_rows) == 3
    assert [row[0] for row in result_rows if not row[-1]] == present
    assert [row[0] for row in rows(looked)] == present


@pytest.mark.parametrize(("kind", "present"), [("semi", [2]), ("anti", [1, None])])
def test_a_semi_lookup_over_rows_that_change_asks_something_of_one_side(rows, kind, present):
    counted = group(by(events(), "a"), ("a",), "n = count(*)")
    looked = lookup(counted, seed("a", "price"), "a = r_a and price > 200 and n < 5", kind)
    result_rows = rows(select(looked, "a", "n"), deletes=True)
    assert len(result_rows) == 3
    assert [row[0] for row in result_rows if not row[-1]] == present
    assert [row[0] for row in rows(select(looked, "a", "n"))] == present


def test_a_draw_among_rows(rows):
    assert len(rows(where(where(events(), "b > 5", "rand() >= 0"), "type = 'x'"))) == 2


def test_lookups_keep_and_drop(rows):
    looked = lookup(where(events(), "b > 5"), seed("a", "price"), "a = r_a", "left")
    assert rows(select(looked, "b", "price")) == [(10, 100), (30, 300), (30, None)]
    assert rows(select(where(looked, "price > 100"), "b")) == [(30,)]


def test_a_relation_with_itself(rows):
    assert len(rows(select(join(events(), events(), "a = r_a"), "b", "r_b"))) == 5


def test_what_is_made_of_a_row(rows):
    node = explode(topic("a", "items", name="baskets"), "explode(items)", "item", outer=True)
    assert rows(select(node, "a", "twice = item * 2")) == [(1, 2), (1, 4), (2, None)]


def test_one_relation_twice_counts_twice(rows):
    both = union(select(events(), "a"), where(select(events(), "a"), "a > 1"), types=(BIGINT,))
    assert rows(group(by(both, "a"), ("a",), "n = count(*)")) == [(1, 2), (2, 2), (None, 1)]


def test_a_constant_key(rows):
    keyed = select(events(), "k = 3", "a")
    assert rows(group(by(keyed, "k"), ("k",), "n = count(*)")) == [(3, 4)]


def test_all_in_one_group(rows):
    assert rows(group(by(events()), (), "n = count(*)", "top = max(b)")) == [(4, 30)]


def test_shared_rows_are_moved_once(rows, spark):
    together = by(where(events(), "b > 1"), "a")
    counts = select(group(together, ("a",), "n = count(*)"), "a", "n")
    tops = select(group(together, ("a",), "n = max(b)"), "a", "n")
    both = union(counts, tops)
    emitted = emit_sql(
        (both,),
        lambda n: n.label if isinstance(n, Decode) else None,
        how=EmitOptions(shared={id(together): "repartition(2, a)"}),
    )
    frame = spark.sql(emitted.statement())
    assert len(frame.collect()) == 6
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert plan.count("ReusedExchange") >= 1, plan
