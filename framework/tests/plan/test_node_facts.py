"""What is known of each kind of node: no kind may forget an expression, or leave out what all must say."""

from __future__ import annotations

from typing import get_args

import pytest
from msgspec import Struct
from support.plans import (
    as_of,
    by,
    dedupe,
    explode,
    group,
    join,
    lookup,
    opaque,
    output,
    seed,
    select,
    sql,
    table,
    topic,
    union,
    watermark,
    where,
)

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.core.types import STRING
from millstream.outputs.kinds import Sink
from millstream.plan.nodes import (
    AnyNode,
    Item,
    Maintained,
    Maintenance,
    MatchedGroups,
    Node,
    RowCheck,
    SourceScan,
    Stateful,
    TraitsLeaf,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.streaming import STATES, kind_of
from millstream.plan.traits import reads_event_time

EVENTS = topic("a", "b", "ts")
SCORES = Stateful(input=by(EVENTS, "a"), function="score", keys=("a",), generated=EVENTS.columns)
STORED = output(where(EVENTS, "a > 1"))
EXAMPLES: list[Node] = [
    *in_order([EVENTS]),
    TraitsLeaf(relation=NodeId("model", "x"), columns=EVENTS.columns),
    seed("a"),
    SourceScan(relation=NodeId("source", "lake.orders"), kind="parquet_folder", columns=EVENTS.columns),
    table("a"),
    where(EVENTS, "a > 1", "b = 2"),
    MatchedGroups(input=EVENTS, conditions=(sql("a > 1"),), hides=("b",)),
    select(EVENTS, "a", "c = a + b"),
    explode(EVENTS, "explode(a)", "item"),
    by(EVENTS, "a"),
    group(by(EVENTS, "a"), ("a",), "n = count(*)", "top = max(b)"),
    dedupe(EVENTS, "a"),
    watermark(EVENTS),
    SCORES,
    join(EVENTS, EVENTS, "a = r_a"),
    lookup(EVENTS, seed("a"), "a = r_a"),
    as_of(watermark(EVENTS), topic("a", "b", "ts"), "a = r_a", "r_ts <= ts"),
    union(EVENTS, EVENTS),
    opaque(EVENTS),
    Maintained(
        table=NodeId("model", "m"),
        reads=(table("a"),),
        maintenance=Maintenance((NodeId("model", "t"),), "select a from _millstream_now_0"),
        keys=("a",),
        columns=EVENTS.columns[:1],
    ),
    type(STORED)(
        input=STORED.input,
        model=NodeId("model", "m"),
        materialization=Sink("m"),
        extras=(Item("headers", sql("b", STRING)),),
        checks=(RowCheck("positive", "warn", sql("a < 0")),),
    ),
]
KINDS = pytest.mark.parametrize("node", EXAMPLES, ids=lambda node: type(node).__name__)


def held(value: object) -> list[Expression]:
    """Return all expressions in a value, nodes aside."""
    match value:
        case Expression():
            return [value]
        case Node():
            return []
        case Struct():
            return [
                expression for name in value.__struct_fields__ for expression in held(getattr(value, name))
            ]
        case tuple():
            return [expression for part in value for expression in held(part)]
    return []


def test_there_is_an_example_of_each_kind():
    assert {type(node) for node in EXAMPLES} == set(get_args(AnyNode))


@KINDS
def test_the_expressions_of_a_node_are_all_that_its_fields_hold(node):
    fields = tuple(getattr(node, name) for name in node.__struct_fields__)
    assert sorted(e.text for e in node.expressions) == sorted(e.text for e in held(fields))


@KINDS
def test_a_node_says_what_it_does_in_one_line(node):
    assert node.summary
    assert "\n" not in node.summary
    assert node.operator
    assert node.noun


@KINDS
def test_what_keeps_state_is_in_the_table_of_what_spark_runs_together(node):
    assert node.stateful == (kind_of(node) in STATES)


@KINDS
def test_a_column_comes_from_an_input_that_has_it(node):
    for column in node.columns:
        if (origin := node.origin(column.name)) is not None:
            below, name = origin
            assert below in node.inputs
            assert below.column(name).type == column.type


def test_functions_are_listed_as_often_as_they_are_called():
    assert select(EVENTS, "c = py_f(a) + py_f(b)").functions == ("py_f", "py_f")
    assert SCORES.functions == ("score",)
    assert where(EVENTS, "a > 1").functions == ()


def test_what_nobody_knows_is_not_deterministic():
    assert not opaque(EVENTS).deterministic
    assert not SCORES.deterministic
    assert not select(EVENTS, "c = rand()").deterministic
    assert select(EVENTS, "c = a + b").deterministic


def test_event_times_are_read_by_what_drops_its_state_by_them():
    timed = watermark(EVENTS)
    assert reads_event_time(dedupe(timed, "a"))
    assert reads_event_time(opaque(timed))
    assert not reads_event_time(dedupe(EVENTS, "a"))
    assert not reads_event_time(where(timed, "a > 1"))
    assert not reads_event_time(group(by(timed, "a"), ("a",), "n = count(*)"))
    assert reads_event_time(group(by(timed, "ts"), ("ts",), "n = count(*)"))
