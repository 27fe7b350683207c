"""Small relations at rest are sent to the rows."""

import pytest
from support.building import after, leaves_unchanged, sink
from support.plans import (
    PlanHints,
    applied,
    lookup,
    output,
    plan,
    plan_text,
    seed,
    select,
    table,
    topic,
    where,
)

from millstream.core.node_id import NodeId
from millstream.plan.optimizer.rules.broadcast_lookups import broadcast_lookups


@pytest.mark.parametrize("kind", ["inner", "left", "semi", "anti"])
def test_a_seed_is_small(kind):
    looked = lookup(topic("a"), where(select(seed("id"), "id"), "id > 1"), "a = id", kind)
    assert f"{kind} lookup on a = id (broadcast)" in after(broadcast_lookups, sink(looked, "m"))


@pytest.mark.parametrize("kind", ["right", "full"])
def test_all_rows_of_the_right_side_are_kept(kind):
    assert leaves_unchanged(broadcast_lookups, [output(lookup(seed("a"), seed("id"), "a = id", kind), "m")])


def test_a_table_may_be_large():
    assert leaves_unchanged(broadcast_lookups, [output(lookup(topic("a"), table("id"), "a = id"), "m")])


@pytest.mark.parametrize(("count", "small"), [(1000, True), (50_000_000, False)])
def test_a_table_is_as_large_as_hints_say(count, small):
    before = plan(lookup(topic("a"), table("id"), "a = id"))
    rewritten = applied(
        broadcast_lookups, before, PlanHints(distinct={(NodeId("model", "users"), "id"): count})
    )
    assert ("(broadcast)" in plan_text(rewritten)) == small


def test_switched_off():
    outputs = [output(lookup(topic("a"), seed("id"), "a = id"), "m")]
    assert leaves_unchanged(broadcast_lookups, outputs, m=frozenset({"broadcast_lookups"}))
