"""Rows that are together are not shuffled."""

from support.building import after, leaves_unchanged, sink
from support.plans import by, dedupe, group, join, lookup, output, seed, select, topic, watermark, where

from millstream.plan.optimizer.rules.drop_repartition import drop_repartition

CLOSED = group(
    by(watermark(topic("a", "b", "ts")), "a"),
    ("a", "w = window(ts, '5 minutes')"),
    "n = count(*)",
    emit="on_close",
)


def test_the_key_did_not_change():
    renamed = select(where(CLOSED, "n > 1"), "k = a", "w", "m = n * 2")
    rewritten = after(drop_repartition, sink(dedupe(by(renamed, "k", "w"), "k", "w"), "m"))
    assert rewritten.count("repartition") == 1


def test_rows_that_agree_in_all_keys_agree_in_some_of_them():
    rewritten = after(drop_repartition, sink(dedupe(by(CLOSED, "n", "a", "w"), "n", "a", "w"), "m"))
    assert rewritten.count("repartition") == 1


def test_one_key_of_two_is_not_enough():
    assert leaves_unchanged(drop_repartition, [output(dedupe(by(CLOSED, "a"), "a"), "m")])


def test_a_changed_key():
    changed = select(CLOSED, "a = a + 1", "w")
    assert leaves_unchanged(drop_repartition, [output(dedupe(by(changed, "a", "w"), "a", "w"), "m")])


def test_all_rows_in_one_place():
    one_place = dedupe(by(topic("a"), *()), "a")
    rewritten = after(drop_repartition, sink(group(by(one_place, "a"), ("a",), "n = count(*)"), "m"))
    assert rewritten.count("repartition") == 1


def test_what_is_at_rest_is_at_hand():
    rewritten = after(drop_repartition, sink(group(by(seed("id"), "id"), ("id",), "n = count(*)"), "m"))
    assert "repartition" not in rewritten


def test_a_lookup_leaves_rows_where_they_are():
    looked = lookup(by(topic("a", "b"), "a"), seed("id"), "a = id")
    assert after(drop_repartition, sink(dedupe(by(looked, "a"), "a"), "m")).count("repartition") == 1


def test_the_sides_of_a_join_lie_side_by_side():
    """Rows that are together by one column are so by two; but those of the other side lie elsewhere."""
    left = by(by(topic("a", "b", name="one"), "a"), "a", "b")
    right = by(topic("a", "b", name="two"), "a", "b")
    assert leaves_unchanged(drop_repartition, [output(join(left, right, "a = r_a and b = r_b"), "m")])


def test_the_sides_of_a_join_that_is_joined_again():
    twice = join(by(by(topic("a", name="one"), "a"), "a"), by(topic("a", name="two"), "a"), "a = r_a")
    assert after(drop_repartition, sink(twice, "m")).count("repartition") == 2


def test_what_a_join_relied_on_is_not_dropped_before_it():
    first = by(topic("a", "b", name="one"), "a")
    exact = by(dedupe(by(first, "a", "b"), "a", "b"), "a", "b")
    right = by(topic("a", "b", name="two"), "a", "b")
    rewritten = after(drop_repartition, sink(join(exact, right, "a = r_a and b = r_b"), "m"))
    assert rewritten.count("repartition by a, b") == 2


def test_switched_off():
    renamed = select(CLOSED, "k = a", "w")
    outputs = [output(dedupe(by(renamed, "k", "w"), "k", "w"), "m")]
    assert leaves_unchanged(drop_repartition, outputs, m=frozenset({"drop_repartition"}))
