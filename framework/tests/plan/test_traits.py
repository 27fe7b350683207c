"""Mode, key, partitioning and watermark follow from what a relation does."""

from __future__ import annotations

import pytest
from support.plans import by, dedupe, group, join, lookup, seed, select, topic, union, watermark, where

from millstream.plan.traits import KnownTraits, NotIncrementalError, Traits

REFINED = ("refining aggregate",)


def of(node):
    return KnownTraits().of(node)


def counts(*keys):
    return group(by(topic("a", "b", "c"), *keys), keys, "n = count(*)")


def test_a_topic_of_events_is_append():
    assert of(topic("a")) == Traits("append")


def test_a_reference_topic_holds_the_newest_row_per_key():
    assert of(topic("a", unique_by=("a",))) == Traits("upsert", ("a",), below=("table changes",))


def test_an_aggregate_holds_one_row_per_group():
    assert of(counts("a", "b")) == Traits("upsert", ("a", "b"), ("a", "b"), (), REFINED)


def test_stateless_steps_keep_the_mode_and_rename_the_key():
    assert of(select(where(counts("a"), "n > 1"), "k = a", "n")) == Traits(
        "upsert", ("k",), ("k",), (), REFINED
    )


def test_a_key_that_is_not_selected_is_lost():
    with pytest.raises(NotIncrementalError, match="the key of these rows is lost: b"):
        of(select(counts("a", "b"), "a", "n"))


def test_one_column_made_of_all_keys_stands_for_them():
    assert of(select(counts("a", "b"), "k = struct(a, b)", "n")).keys == ("k",)


def test_a_window_is_told_by_its_start():
    windowed = group(
        by(watermark(topic("a", "ts")), "a"), ("w = window(ts, '1 minute')", "a"), "n = count(*)"
    )
    assert of(select(windowed, "s = w.start", "a", "n")).keys == ("s", "a")


def test_closed_windows_are_final():
    windowed = group(
        by(watermark(topic("a", "ts")), "a"),
        ("w = window(ts, '1 minute')", "a"),
        "n = count(*)",
        emit="on_close",
    )
    assert of(windowed) == Traits(
        "append", (), ("w", "a"), (("w", "10 seconds"),), ("closing aggregate", "watermark")
    )


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (lambda: group(counts("a"), ("n",), "m = count(*)"), "MS510"),
        (lambda: dedupe(counts("a"), "n"), "MS510"),
        (lambda: union(counts("a"), counts("a")), "MS510"),
        (lambda: join(counts("a"), topic("d"), "a = d"), "MS513"),
        (lambda: group(topic("a"), ("a",), "n = count(*)", emit="on_close"), "MS512"),
    ],
)
def test_what_would_count_old_versions_is_refused(node, code):
    with pytest.raises(NotIncrementalError) as raised:
        of(node())
    assert raised.value.code == code
    assert raised.value.remedy


def test_a_repartition_partitions_until_its_column_is_gone():
    together = by(topic("a", "b"), "a")
    assert of(together).partitioned == ("a",)
    assert of(select(together, "x = a", "b")).partitioned == ("x",)
    assert of(select(together, "b")).partitioned is None


def test_a_lookup_keeps_the_traits_of_its_stream():
    traits = of(lookup(counts("a"), seed("k", "label"), "a = k"))
    assert traits == Traits("upsert", ("a",), ("a",), (), REFINED)


def test_a_watermark_goes_with_its_column():
    assert of(select(watermark(topic("a", "ts")), "at = ts")).watermarks == (("at", "10 seconds"),)
    assert of(select(watermark(topic("a", "ts")), "a")).watermarks == ()


def test_what_is_at_rest_stays_so():
    assert of(where(seed("a"), "a > 1")) == Traits("static")


def test_a_long_chain_is_no_deep_recursion():
    node = topic("a")
    for _ in range(3000):
        node = where(node, "a > 1")
    assert of(node) == Traits("append")
    assert node.fingerprint
