"""Aggregates of one input by one key as one."""

import pytest
from msgspec.structs import replace
from support.building import after, leaves_unchanged, sink, text
from support.plans import by, group, output, select, topic, watermark, where

from millstream.core.expressions import Ref
from millstream.plan.optimizer.rules.merge_aggregates import merge_aggregates

WINDOW = ("a", "w = window(ts, '5 minutes')")


def counted(node, *keys, emit="on_change", measure="n = count(*)"):
    return group(by(node, *(k for k in keys if "=" not in k)), keys, measure, emit=emit)


def stays(*nodes):
    return leaves_unchanged(
        merge_aggregates, [output(node, f"m{i}") for i, node in enumerate(nodes, start=1)]
    )


def merged(*nodes):
    return after(merge_aggregates, *(sink(node, f"m{i}") for i, node in enumerate(nodes, start=1)))


def test_each_gets_the_groups_that_it_had_a_row_of():
    events = topic("a", "b")
    first = counted(where(events, "b > 1"), "a")
    second = counted(where(events, "b < 5"), "a", measure="s = max(b)")
    assert merged(first, second) == text("""
        sink m1
          project a, n = m_n_0
            filter m_rows_0 > 0
              events_filtered_by_key_grouped = aggregate m_n_0 = count(*) filter (where b > 1), m_rows_0 = count(*) filter (where b > 1), m_s_1 = max(b) filter (where b < 5), m_rows_1 = count(*) filter (where b < 5) by a (on change)
                repartition by a
                  filter ((b < 5) or (b > 1))
                    decode json: a, b
                      topic events
        sink m2
          project a, s = m_s_1
            filter m_rows_1 > 0
              ^ events_filtered_by_key_grouped
    """)


def test_one_without_a_filter_has_rows_of_all_groups():
    events = topic("a", "b")
    rewritten = merged(counted(events, "a"), counted(where(events, "b > 1"), "a"))
    assert rewritten.startswith(text("""
        sink m1
          project a, n = m_n_0
            events_by_key_grouped = aggregate m_n_0 = count(*), m_n_1 = count(*) filter (where b > 1), m_rows_1 = count(*) filter (where b > 1) by a (on change)
    """))  # fmt: skip


def test_what_all_ask_is_asked_before():
    events = topic("a", "b", "c")
    rewritten = merged(
        counted(where(events, "c = 1"), "a"), counted(where(events, "c = 1"), "a", measure="s = max(b)")
    )
    assert "filter (where" not in rewritten
    assert "filter c = 1" in rewritten


def test_measures_and_keys_read_through_projections():
    events = topic("a", "b")
    first = counted(select(events, "k = a + 1", "v = b"), "k", measure="s = max(v)")
    second = counted(select(events, "x = a + 1"), "x")
    rewritten = merged(first, second)
    assert "aggregate m_s_0 = max(b), m_n_1 = count(*) by k" in rewritten
    assert "project x = k, n = m_n_1" in rewritten


def test_windows_of_one_length():
    events = watermark(topic("a", "b", "ts"))
    rewritten = merged(counted(events, *WINDOW), counted(where(events, "b > 1"), *WINDOW))
    assert "by a, window = window(ts, '5 minutes')" in rewritten


@pytest.mark.parametrize(
    "other",
    [
        counted(watermark(topic("a", "b", "ts")), "a", "w = window(ts, '9 minutes')"),
        counted(watermark(topic("a", "b", "ts")), *WINDOW, emit="on_close"),
        counted(watermark(topic("a", "b", "ts")), "b", "w = window(ts, '5 minutes')"),
    ],
    ids=["length", "emit", "key"],
)
def test_other_windows_emits_and_keys(other):
    events = other.input.input
    assert stays(counted(events, *WINDOW), other)


def test_sessions_are_made_of_all_their_rows():
    events = watermark(topic("a", "b", "ts"))
    keys = ("a", "s = session_window(ts, '5 minutes')")
    all_rows, some = (counted(node, *keys, emit="on_close") for node in (events, where(events, "b > 1")))
    assert stays(all_rows, some)
    assert not stays(all_rows, counted(events, *keys, emit="on_close", measure="top = max(b)"))


def test_what_can_fail_is_not_computed_for_the_rows_of_others():
    events = topic("a", "b")
    first = counted(where(events, "b > 1"), "a", measure="s = sum(b / a)")
    rewritten = merged(first, counted(where(events, "b > 2"), "a"))
    assert (
        "m_s_0 = sum(case when b > 1 then b / a end), m_rows_0 = count(*) filter (where b > 1)" in rewritten
    )


@pytest.mark.parametrize(
    "measure", ["f = first(b)", "v = any_value(b)", "n = count(b / a)", "m = max_by(b, b / a)"]
)
def test_measures_that_depend_on_other_rows(measure):
    events = topic("a", "b")
    assert stays(counted(where(events, "b > 1"), "a", measure=measure), counted(where(events, "b > 2"), "a"))


def test_distinct_values_are_kept_in_another_way():
    events = topic("a", "b")
    first, second = (counted(where(events, f"b > {i}"), "a") for i in (1, 2))
    call = replace(first.measures[0].call, pieces=("count(DISTINCT ", Ref("b"), ")"))
    assert stays(replace(first, measures=(replace(first.measures[0], call=call),)), second)


@pytest.mark.parametrize("condition", ["py_f(b) > 1", "rand() > 1", "a / b > 1"])
def test_filters_that_can_not_be_asked_of_all_rows(condition):
    events = topic("a", "b")
    assert stays(counted(where(events, condition), "a"), counted(where(events, "b > 2"), "a"))


def test_switched_off():
    events = topic("a", "b")
    outputs = [output(counted(where(events, f"b > {i}"), "a"), f"m{i}") for i in (1, 2)]
    assert leaves_unchanged(merge_aggregates, outputs, m=frozenset({"merge_aggregates"}))
