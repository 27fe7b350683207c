"""A topic that is written and read in one project is not read back."""

from inspect import cleandoc

import pytest
from msgspec.structs import replace
from support.building import after, leaves_unchanged, of, read, sink, text
from support.plan_text import plan_text
from support.plans import applied, by, group, opaque, select, topic, watermark, where

from millstream.core.types import INTERVAL, STRING
from millstream.formats.registry import Encoding
from millstream.outputs.kinds import Written
from millstream.plan.nodes import Column, Dedupe, Output, Plan, Union
from millstream.plan.optimizer.context import PlanHints
from millstream.plan.optimizer.rules.bypass_topics import bypass_topics


def enriched(*items: str) -> Output:
    return sink(
        select(topic("type", "a", "b"), "type", "a", *(items or ("b",)), label="enriched"), "enriched"
    )


def test_the_reader_reads_what_is_written():
    first = enriched()
    last = sink(where(read(first), "a > 1"), "final")
    assert after(bypass_topics, first, last) == text("""
        sink enriched
          enriched = project type, a, b
            decode json: type, a, b
              topic events
        sink final
          filter a > 1
            ^ enriched
    """)


def test_a_reader_of_some_columns_gets_these():
    first = enriched()
    assert after(bypass_topics, first, sink(read(first, "b", "type"), "final")).endswith(text("""
        sink final
          project b, type
            ^ enriched
    """))  # fmt: skip


def test_a_chain_of_topics_is_read_once():
    first = enriched()
    second = sink(select(read(first), "type", "a = a + 1"), "second")
    third = sink(select(read(second), "type"), "third")
    rewritten = after(bypass_topics, first, second, third)
    assert rewritten.count("topic events") == 1
    assert "topic enriched" not in rewritten
    assert "topic second" not in rewritten


def test_the_newest_rows_by_a_key_are_read_as_such():
    counts = sink(group(by(topic("a"), "a"), ("a",), "n = count(*)"), "counts", "a")
    final = sink(where(read(counts, unique_by=("a",)), "n > 1"), "final", "a")
    assert "topic counts" not in after(bypass_topics, counts, final)


def test_events_of_a_topic_of_newest_rows_are_all_its_versions():
    counts = sink(group(by(topic("a"), "a"), ("a",), "n = count(*)"), "counts", "a")
    assert leaves_unchanged(bypass_topics, [counts, sink(read(counts), "final")])


def test_another_key_is_another_relation():
    counts = sink(group(by(topic("a", "b"), "a", "b"), ("a", "b"), "n = count(*)"), "counts", "a", "b")
    assert leaves_unchanged(bypass_topics, [counts, sink(read(counts, unique_by=("a",)), "final", "a")])


def test_metadata_are_of_the_records_that_were_written():
    first = enriched()
    assert leaves_unchanged(bypass_topics, [first, sink(read(first, metadata=("_offset",)), "final")])


def test_what_is_not_deterministic_is_read_as_it_was_written():
    first = enriched("r = rand()")
    assert leaves_unchanged(bypass_topics, [first, sink(read(first), "final")])


def test_what_is_not_understood_is_read_as_it_was_written():
    first = sink(opaque(topic("a")), "odd")
    assert leaves_unchanged(bypass_topics, [first, sink(read(first), "final")])


@pytest.mark.parametrize("format_", ["csv", "xml", "binary"])
def test_a_format_that_loses_something(format_):
    first = enriched()
    value = Written(Encoding(format_))
    first = replace(first, materialization=replace(first.materialization, value=value))
    assert leaves_unchanged(bypass_topics, [first, sink(read(first, format=Encoding(format_)), "final")])


def test_a_format_of_one_column_loses_only_null():
    selected = select(topic("type"), "type")
    (item,) = selected.items
    never = replace(selected, items=(replace(item, expression=replace(item.expression, nullable=False)),))
    for node, stays in ((selected, True), (never, False)):
        first = sink(node, "plain", value=Written(Encoding("string")))
        assert (
            leaves_unchanged(bypass_topics, [first, sink(read(first, format=Encoding("string")), "final")])
            == stays
        )


def test_a_topic_that_is_read_as_another_format():
    first = enriched()
    assert leaves_unchanged(bypass_topics, [first, sink(read(first, format=Encoding("xml")), "final")])


@pytest.mark.parametrize(
    "field", [Column("a", STRING), Column("missing", STRING), Column("a", INTERVAL)], ids=str
)
def test_columns_that_are_read_as_something_else(field):
    first = enriched()
    assert leaves_unchanged(bypass_topics, [first, sink(read(first, fields=(field,)), "final")])


def test_a_column_that_is_said_to_be_never_null():
    first = enriched()
    never = replace(first.columns[1], nullable=False)
    assert leaves_unchanged(bypass_topics, [first, sink(read(first, fields=(never,)), "final")])


def test_the_writer_switches_it_off():
    first = enriched()
    off = {"model.enriched": frozenset({"bypass_topics"})}
    assert leaves_unchanged(bypass_topics, [first, sink(read(first), "final")], **off)


def test_a_reader_switches_it_off():
    first = enriched()
    reader = of(where(read(first), "a > 1"), "model.final")
    assert leaves_unchanged(
        bypass_topics, [first, sink(reader, "final")], **{"model.final": frozenset({"bypass_topics"})}
    )


def test_the_reader_has_its_own_event_time_and_the_topic_none():
    first = sink(where(watermark(topic("ts", "a")), "a > 1"), "timed")
    final = sink(replace(watermark(read(first)), delay="1 hour"), "final")
    assert (
        after(bypass_topics, first, final)
        == cleandoc(
            """
        sink timed
          filter a > 1
            watermark ts delay 10 seconds
              events = decode json: ts, a
                topic events
        sink final
          watermark ts delay 1 hour
            filter a > 1
              ^ events
        """
        )
        + "\n"
    )


def rewritten(*outputs: Output, queries: str = "shared") -> str:
    return plan_text(applied(bypass_topics, Plan(outputs), hints=PlanHints(queries=queries)))


def first_events(name: str = "firsts") -> Output:
    rows = Dedupe(input=by(watermark(topic("ts", "a")), "a"), keys=("a",), within="1 hour", label=name)
    return sink(rows, name)


def united(*outputs: Output) -> Output:
    sides = [select(read(output), "a", label=f"of_{output.label}") for output in outputs]
    return sink(Union(sides=(*sides,), label="both"), "final")


@pytest.mark.parametrize("other", [first_events("others"), sink(select(topic("a"), "a"), "plain")])
def test_no_query_keeps_the_state_of_another_one(other):
    """A union reads more than the rows of that state, so it runs in a query of its own."""
    first = first_events()
    assert "topic firsts" in rewritten(first, other, united(first, other))


def test_two_reads_of_one_state_are_in_its_query():
    first = first_events()
    between = sink(where(read(first), "a > 1"), "between")
    assert "topic firsts" not in rewritten(first, united(first, first))
    assert "topic between" not in rewritten(first, between, united(first, between))


def test_a_topic_that_is_read_back_is_not_also_taken_before_it_is_written():
    first = first_events()
    last = sink(
        Union(sides=(read(first, "a"), read(first, "a", metadata=("_offset",))), label="both"), "final"
    )
    assert "topic firsts" in rewritten(first, last)


@pytest.mark.parametrize(
    ("options", "queries"),
    [({"group": "x"}, "shared"), ({"state": {"store": "memory"}}, "shared"), ({}, "separate")],
)
def test_a_reader_with_a_query_of_its_own_keeps_no_state_of_others(options, queries):
    first = first_events()
    last = sink(where(read(first), "a > 1"), "final", **options)
    assert "topic firsts" in rewritten(first, last, queries=queries)
    assert "topic firsts" not in rewritten(first, sink(where(read(first), "a > 1"), "final"))


def scored(*outputs: Output, queries: str = "shared", calls: tuple[str, ...] = ("py_score",)) -> str:
    hints = PlanHints(queries=queries, costly_calls=frozenset(calls))
    first = enriched("b", "s = py_score(a)")
    return plan_text(applied(bypass_topics, Plan((first, *outputs)), hints=hints))


def score_reader(*names: str, **options) -> Output:
    return sink(where(read(enriched("b", "s = py_score(a)"), *names), f"{names[-1]} > 1"), "final", **options)


def sums(*names: str) -> Output:
    rows = by(read(enriched("b", "s = py_score(a)"), *names), "type")
    return sink(group(rows, ("type",), f"n = sum({names[-1]})"), "sums", "type")


@pytest.mark.parametrize(
    ("output", "queries", "topics"),
    [
        (score_reader("s"), "shared", 0),
        (score_reader("s"), "stateless", 0),
        (score_reader("s"), "one", 0),
        (score_reader("s"), "separate", 1),
        (score_reader("s", group="x"), "shared", 1),
        (sums("type", "s"), "shared", 1),
        (sums("type", "s"), "one", 0),
        (sums("type", "b"), "shared", 0),
    ],
)
def test_no_query_calls_a_function_of_the_writer_again(output, queries, topics):
    assert scored(output, queries=queries).count("topic enriched") == topics


def test_a_call_that_costs_little_is_repeated():
    assert "topic enriched" not in scored(sums("type", "s"), calls=())


def test_a_call_that_decides_which_rows_there_are_is_not_repeated():
    first = sink(where(select(topic("type", "a", "b"), "type", "a"), "py_score(a) > 1"), "enriched")
    rows = group(by(read(first, "type", "a"), "type"), ("type",), "n = sum(a)")
    hints = PlanHints(costly_calls=frozenset(("py_score",)))
    plan = plan_text(applied(bypass_topics, Plan((first, sink(rows, "sums", "type"))), hints=hints))
    assert "topic enriched" in plan


def test_a_reader_of_a_reader_calls_nothing_again():
    first = enriched("b", "s = py_score(a)")
    second = sink(where(read(first, "type", "s"), "s > 1"), "second")
    third = sink(group(by(read(second, "type", "s"), "type"), ("type",), "n = sum(s)"), "third", "type")
    hints = PlanHints(costly_calls=frozenset(("py_score",)))
    plan = plan_text(applied(bypass_topics, Plan((first, second, third)), hints=hints))
    assert ("topic enriched" in plan, "topic second" in plan) == (False, True)


def test_a_plan_that_is_one_query_has_no_topics():
    first, other = first_events(), first_events("others")
    plan = rewritten(first, other, united(first, other), queries="one")
    assert "topic firsts" not in plan
    assert "topic others" not in plan
