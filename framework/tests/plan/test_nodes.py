"""What two nodes have in common, and what tells them apart."""

from __future__ import annotations

import pytest
from support.plans import by, group, output, plan, select, topic, union, where

from millstream.plan.nodes import Plan
from millstream.plan.nodes.order import in_order
from millstream.plan.walk import find_consumers, rewrite_plan


def test_names_for_people_do_not_count():
    one, other = (
        select(topic("a"), "b = a + 1", label="x", model="m"),
        select(topic("a"), "b = a + 1", model="n"),
    )
    assert one.fingerprint == other.fingerprint
    assert one is not other


@pytest.mark.parametrize(
    "other",
    [
        select(topic("a"), "b = a + 2"),
        select(topic("a"), "c = a + 1"),
        select(topic("a", "z"), "b = a + 1"),
        select(topic("a", name="others"), "b = a + 1"),
        where(topic("a"), "a > 1"),
    ],
)
def test_what_is_done_counts(other):
    assert select(topic("a"), "b = a + 1").fingerprint != other.fingerprint


def test_the_order_of_measures_counts():
    node = by(topic("a", "b"), "a")
    one = group(node, ("a",), "x = sum(b)", "y = max(b)")
    other = group(node, ("a",), "y = max(b)", "x = sum(b)")
    assert one.fingerprint != other.fingerprint


def test_a_shared_node_is_visited_once_and_stays_shared():
    shared = where(topic("a"), "a > 1")
    before = plan(select(shared, "a"), select(shared, "b = a"))
    seen = []
    after = rewrite_plan(before, lambda node, old: seen.append(old) or node)
    assert after is before
    assert len(seen) == len(in_order(before.outputs))
    assert len(find_consumers(before)[id(shared)]) == 2


def test_a_relation_read_twice_by_one_node_has_it_twice_among_its_consumers():
    base = topic("a")
    twice = Plan((output(union(base, base)),))
    assert len(find_consumers(twice)[id(base)]) == 2
