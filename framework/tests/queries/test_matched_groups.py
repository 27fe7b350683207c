"""Which conditions of groups have copies of aggregates in a state, and what that means for other states."""

import re

import pytest
from msgspec.structs import replace
from support.plans import by, group, output, select, topic, where

from millstream.plan.nodes import Plan
from millstream.queries.physical_plan import physical_plan
from millstream.queries.tombstones import with_every_tombstone, without_copies
from millstream.queries.values import PhysicalSettings
from millstream.queries.verdict import compare_signatures, match_copies

EVENTS = by(topic("a", "b", "c"), "a")


def planned(*conditions):
    """Return the query of sinks with the groups that match each of these conditions."""
    measures = (
        "n = count(*)",
        "total = sum(b)",
        "roughly = approx_count_distinct(c)",
        "called = sum(py_f(b))",
    )
    groups = group(EVENTS, ("a",), *measures)
    outputs = [
        output(select(where(groups, condition), "a", "n"), f"m{i}", "a")
        for i, condition in enumerate(conditions)
    ]
    (query,) = physical_plan(Plan(tuple(outputs)), PhysicalSettings(shuffle_partitions=1)).queries
    return query


def texts(query):
    """Return all SQL of a query, without the relations of columns."""
    return re.sub(r"\b\w+\.(?=\w)", "", repr(query))


@pytest.mark.parametrize(
    ("condition", "call"),
    [
        ("total > 20", "matched(coalesce((sum(b)) > 20, false), "),
        ("n < 5 and total > 1", "matched(coalesce((count(*)) < 5 and (sum(b)) > 1, false), "),
        ("total > abs(a)", "matched(coalesce((sum(b)) > abs(max(a)), false), "),
        ("n > 5", ""),  # it lasts
        ("a > 1", ""),
        ("roughly < 3", ""),
        ("called < 3", ""),
        ("total > rand()", ""),
        ("py_f(total)", ""),
    ],
)
def test_conditions_that_can_become_false_again_have_copies(condition, call):
    query = planned(condition)
    assert bool(query.copies) == bool(query.signature.copies) == bool(call)
    assert call in texts(query)


def test_models_that_share_a_state_share_equal_copies():
    one, two = planned("total > 20"), planned("total > 20", "total > 20")
    assert len(two.copies) == len(one.copies) == 1
    assert len(planned("total > 20", "total > 30", "n > 5").copies) == 2


def test_a_state_has_the_copies_that_it_began_with():
    one, two = planned("total > 20"), planned("total > 20", "n < 3")
    other = planned("total > 30")
    without = replace(one.signature, copies=())
    assert match_copies(without, one.signature) == (False,)
    assert match_copies(one.signature, other.signature) == (True,)
    assert match_copies(one.signature, two.signature) == (True, False)
    assert match_copies(two.signature, one.signature) is None
    assert compare_signatures(without, one.signature).kind == "same"
    assert compare_signatures(one.signature, other.signature).kind == "stored"
    (reason,) = compare_signatures(one.signature, planned("n < 9 and total > 1").signature).reasons
    assert "its state has copies of aggregates" in reason


def test_the_sql_says_which_copies_a_state_has():
    query = planned("total > 20")
    (name,) = query.copies
    assert f", false /* no other version has sent rows */, '{name}' /*" in query.sql
    assert f", true /* another version may have sent rows */, '{name}' /*" in with_every_tombstone(query).sql
    assert ", false /* no other version has sent rows */, '' /*" in without_copies(query, [name]).sql
