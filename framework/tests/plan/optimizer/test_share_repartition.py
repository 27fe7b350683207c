"""One shuffle for all that need rows together by one key, and never before a filter."""

import pytest
from support.building import after, leaves_unchanged, of, sink, text
from support.plans import (
    by,
    dedupe,
    explode,
    group,
    join,
    output,
    seed,
    select,
    topic,
    union,
    watermark,
    where,
)

from millstream.plan.optimizer.rules.share_repartition import share_repartition


def counted(node, *keys, name="n"):
    return group(by(node, *keys), keys, f"{name} = count(*)")


def of_each(*nodes):
    return after(share_repartition, *(sink(node, f"m{i}") for i, node in enumerate(nodes, start=1)))


def stays(*nodes, **off):
    return leaves_unchanged(
        share_repartition, [output(node, f"m{i}") for i, node in enumerate(nodes, start=1)], **off
    )


def test_two_aggregates_by_one_key_after_what_both_drop():
    events = topic("a", "b", "type")
    views = counted(where(events, "type = 'view'", "b > 1"), "a")
    buys = group(by(where(events, "type = 'buy'", "b > 1"), "a"), ("a",), "s = sum(b)")
    assert of_each(views, buys) == text("""
        sink m1
          aggregate n = count(*) by a (on change)
            filter type = 'view'
              events_filtered_by_key = repartition by a
                filter b > 1 and ((type = 'buy') or (type = 'view'))
                  decode json: a, b, type
                    topic events
        sink m2
          aggregate s = sum(b) by a (on change)
            filter type = 'buy'
              ^ events_filtered_by_key
    """)


def test_one_that_wants_all_rows_needs_all():
    events = topic("a", "b")
    rewritten = of_each(counted(where(events, "b > 1"), "a"), counted(events, "a"))
    assert rewritten == text("""
        sink m1
          aggregate n = count(*) by a (on change)
            filter b > 1
              events_by_key = repartition by a
                decode json: a, b
                  topic events
        sink m2
          aggregate n = count(*) by a (on change)
            ^ events_by_key
    """)


def test_a_computed_key_is_calculated_once_below():
    events = topic("a", "b")
    first = counted(select(events, "k = a + 1"), "k")
    second = group(by(select(events, "b", "x = a + 1"), "x"), ("x",), "s = sum(b)")
    assert of_each(first, second) == text("""
        sink m1
          aggregate n = count(*) by k (on change)
            project k
              events_selected_by_key = repartition by k
                project a, b, k = a + 1
                  decode json: a, b
                    topic events
        sink m2
          aggregate s = sum(b) by x (on change)
            project b, x = k
              ^ events_selected_by_key
    """)


def test_a_value_change_after_the_key_change_stays_above():
    keyed = select(topic("a", "b"), "k = a + 1", "b")
    first = counted(select(keyed, "k", "b = b * 2"), "k")
    second = group(by(select(keyed, "k", "b = b * 3"), "k"), ("k",), "s = sum(b)")
    rewritten = of_each(first, second)
    assert rewritten.count("repartition by") == 1
    assert "project k, b = b * 2" in rewritten


def test_a_key_that_is_calculated_in_two_steps_is_carried_through_the_first():
    """The step below the one that calculates the key passes on what is calculated below both."""
    first = select(select(topic("a", "b"), "c = b * 2", "d = a + 1"), "k = d * 3", "c")
    events = first.input.input
    second = select(select(events, "d = a + 1"), "k = d * 3")
    rewritten = of_each(group(by(first, "k"), ("k",), "s = sum(c)"), counted(second, "k"))
    assert rewritten == text("""
        sink m1
          aggregate s = sum(c) by k (on change)
            project k, c
              project c = b * 2, d = a + 1, k
                events_selected_by_key = repartition by k
                  project a, b, k = (a + 1) * 3
                    decode json: a, b
                      topic events
        sink m2
          aggregate n = count(*) by k (on change)
            project k
              project d = a + 1, k
                ^ events_selected_by_key
    """)


def test_a_carried_key_keeps_clear_of_other_columns():
    events = topic("a", "k")
    chain = select(select(events, "k", "d = a + 1"), "key = d * 3", "k")
    rewritten = of_each(counted(chain, "key"), counted(select(events, "k = (a + 1) * 3"), "k"))
    assert rewritten.count("repartition by key") == 1
    assert "project k, d = a + 1, key" in rewritten


def test_opposite_branches_after_a_key_change():
    keyed = select(topic("a", "b"), "k = a + 1", "b")
    rewritten = of_each(counted(where(keyed, "b <= 7"), "k"), counted(where(keyed, "b > 7"), "k"))
    assert "filter ((b <= 7) or (b > 7))" in rewritten
    assert rewritten.count("repartition by") == 1


def test_a_filter_between_a_key_change_and_two_readers_stays_below_the_shuffle():
    filtered = where(select(topic("a", "b"), "k = a + 1", "b"), "b > 1")
    rewritten = of_each(counted(filtered, "k"), group(by(filtered, "k"), ("k",), "s = sum(b)"))
    assert rewritten.index("repartition by k") < rewritten.index("filter b > 1")
    assert rewritten.count("filter b > 1") == 1


def test_two_aggregates_and_a_join_on_one_changed_key():
    keyed = select(topic("a", "b", name="one"), "k = a + 1", "b")
    other = select(topic("k", "c", name="two"), "k", "c")
    joined = join(by(keyed, "k"), by(other, "k"), "k = r_k")
    rewritten = of_each(counted(keyed, "k"), group(by(keyed, "k"), ("k",), "s = sum(b)"), joined)
    assert rewritten.count("repartition by k") == 2


def test_keys_in_another_order_are_the_same_to_an_aggregate():
    events = topic("a", "b")
    assert of_each(counted(events, "a", "b"), counted(events, "b", "a")).count("repartition") == 1


def test_keys_in_another_order_are_others_to_a_join():
    one, two = topic("a", "b", name="one"), topic("a", "b", name="two")
    on = "a = r_a and b = r_b"
    joined = join(by(one, "a", "b"), by(two, "a", "b"), on)
    crossed = join(by(one, "b", "a"), by(two, "b", "a"), on)
    assert stays(joined, crossed)
    assert not stays(joined, counted(one, "b", "a"))


def test_a_repartitioned_and_a_plain_stream_are_shuffled_once_together():
    merged = union(topic("a", name="one"), select(topic("b", name="two"), "a = b + 1"))
    rewritten = of_each(counted(merged, "a"), dedupe(by(merged, "a"), "a"))
    assert rewritten.count("repartition by a") == 1


def test_what_a_dedupe_passes_on_stays_as_it_was():
    events = topic("a", "b")
    small = dedupe(by(select(events, "k = a + 1"), "k"), "k")
    assert of_each(small, counted(select(events, "k = a + 1", "b"), "k")).startswith(text("""
        sink m1
          dedupe k
            project k
    """))  # fmt: skip


def test_a_filter_that_calls_python_is_not_asked_after_the_shuffle():
    events = topic("a", "b")
    assert stays(counted(where(events, "py_f(b) > 1"), "a"), counted(where(events, "b > 1"), "a"))


def test_a_filter_that_calls_python_may_come_later_where_another_reader_needs_all_rows():
    events = topic("a", "b")
    rewritten = of_each(counted(where(events, "py_f(b) > 1"), "a"), counted(events, "a"))
    assert rewritten.count("repartition by") == 1
    assert rewritten.count("py_f(b)") == 1


def test_a_filter_that_can_fail_is_not_asked_of_more_rows():
    events = topic("a", "b")
    guarded = where(where(events, "b > 1"), "a / b > 1")
    assert stays(counted(guarded, "a"), counted(where(events, "b > 2"), "a"))


def test_a_shared_call_of_python_stays_below():
    scored = select(topic("a", "b"), "a", "s = py_f(b)")
    rewritten = of_each(counted(where(scored, "s > 1"), "a"), group(by(scored, "a"), ("a",), "s = sum(s)"))
    assert rewritten.count("repartition by a") == 1
    assert rewritten.index("repartition by a") < rewritten.index("py_f(b)")


def test_a_call_of_one_reader_alone_stays_above():
    events = topic("a", "b")
    scored = select(events, "a", "s = py_f(b)")
    rewritten = of_each(group(by(scored, "a"), ("a",), "s = sum(s)"), counted(events, "a"))
    assert rewritten.count("repartition by a") == 1
    assert rewritten.index("py_f(b)") < rewritten.index("repartition by a")


@pytest.mark.parametrize("key", ["py_f(a)", "rand()"])
def test_keys_that_may_not_be_calculated_again(key):
    events = topic("a", "b")
    assert stays(*(counted(select(events, f"k = {key}"), "k") for _ in range(2)))


def test_random_values_are_not_moved():
    events = topic("a", "b")
    assert stays(counted(select(events, "a", "r = rand()"), "a"), counted(events, "a"))


def test_other_keys():
    events = topic("a", "b")
    assert stays(counted(events, "a"), counted(events, "b"), counted(events, "a", "b"))


def test_rows_without_a_key_are_counted_before_they_come_together():
    events = topic("a")
    assert stays(*(group(by(events), (), f"{n} = count(*)") for n in "xy"))


def test_watermarks_expansions_and_what_is_at_rest():
    events, table = topic("a", "b", "ts"), seed("a", "b")
    assert stays(
        counted(watermark(events), "a"),
        counted(explode(events, "explode(b)", "item"), "a"),
        counted(table, "a"),
        counted(select(table, "a"), "a"),
    )


def test_a_model_that_switches_it_off():
    events = topic("a")
    switched_off = of(by(events, "a"), "model.x")
    nodes = [group(switched_off, ("a",), "n = count(*)"), counted(events, "a")]
    assert stays(*nodes, **{"model.x": frozenset({"share_repartition"})})
