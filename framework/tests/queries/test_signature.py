"""What a query's state depends on: each edit that Spark accepts and answers wrongly must show."""

import pytest
from msgspec.structs import replace
from planned_projects import planned
from support.building import sink
from support.plans import by, dedupe, group, join, select, topic, watermark, where

from millstream.plan.nodes import Aggregate


def counted(node=None, keys=("a",), *measures, emit="on_change"):
    source = node if node is not None else topic("a", "b", "c", "ts")
    return group(
        by(source, *[k for k in keys if " = " not in k]),
        keys,
        *(measures or ("n = sum(b)", "m = sum(c)")),
        emit=emit,
    )


def signature(node, functions=None):
    (query,) = planned(sink(node, "m"), functions=functions or {}).queries
    return query.signature


def facts(node, functions=None):
    return [operator.facts for operator in signature(node, functions).operators]


WINDOW = "window = window(ts, '1 hour')"
EVENTS = topic("a", "b", "c", "ts")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(counted(), counted(None, ("a",), "m = sum(c)", "n = sum(b)"), id="two sums swapped"),
        pytest.param(counted(), counted(None, ("a",), "n = max(b)", "m = sum(c)"), id="sum to max"),
        pytest.param(counted(), counted(None, ("a",), "n = sum(b * 2)", "m = sum(c)"), id="another argument"),
        pytest.param(counted(), counted(None, ("b",)), id="another key of the same type"),
        pytest.param(counted(None, ("a", "b")), counted(None, ("b", "a")), id="keys swapped"),
        pytest.param(
            select(counted(), "a", "n", "m"),
            select(counted(), "a", "m", "n"),
            id="an outer select in another order",
        ),
        pytest.param(
            counted(select(EVENTS, "a", "b", "c")),
            counted(select(EVENTS, "a", "b = b + 1", "c")),
            id="a measure's column below",
        ),
        pytest.param(
            counted(select(EVENTS, "a", "b", "c")),
            counted(select(EVENTS, "a = b", "b", "c")),
            id="a key's column below",
        ),
        pytest.param(
            counted(watermark(EVENTS), (WINDOW, "a")),
            counted(watermark(EVENTS), ("window = window(ts, '2 hours')", "a")),
            id="window length",
        ),
        pytest.param(
            counted(watermark(EVENTS), (WINDOW, "a")),
            counted(replace(watermark(EVENTS), delay="20 seconds"), (WINDOW, "a")),
            id="watermark",
        ),
        pytest.param(
            counted(watermark(EVENTS), (WINDOW, "a"), emit="on_close"),
            counted(watermark(EVENTS), (WINDOW, "a")),
            id="emit",
        ),
        pytest.param(
            where(counted(watermark(EVENTS), (WINDOW, "a"), emit="on_close"), "a > 1"),
            where(counted(watermark(EVENTS), (WINDOW, "a"), emit="on_close"), "a > 2"),
            id="a filter that Spark pushes below the state",
        ),
        pytest.param(
            dedupe(by(EVENTS, "a", "b"), "a", "b"),
            dedupe(by(EVENTS, "a", "b"), "b", "a"),
            id="order of dedupe keys",
        ),
        pytest.param(
            dedupe(by(EVENTS, "a"), "a"),
            dedupe(by(EVENTS, "a"), "a", within="1 hour"),
            id="how long a key is remembered",
        ),
        pytest.param(
            join(EVENTS, topic("a", name="o"), "a = r_a"),
            join(EVENTS, topic("a", name="o"), "b = r_a"),
            id="join condition",
        ),
        pytest.param(
            join(EVENTS, topic("a", name="o"), "a = r_a"),
            join(EVENTS, topic("a", name="o"), "a = r_a", "left"),
            id="join kind",
        ),
        pytest.param(
            join(topic("a", "b"), topic("a", name="o"), "a = r_a"),
            join(topic("b", "a"), topic("a", name="o"), "a = r_a"),
            id="columns of a side in another order",
        ),
    ],
)
def test_an_edit_of_state_shows(before, after):
    assert facts(before) != facts(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(counted(), counted(None, ("k = a",)), id="an alias of a key"),
        pytest.param(counted(), counted(None, ("a",), "x = sum(b)", "y = sum(c)"), id="aliases of measures"),
        pytest.param(
            counted(), counted(select(EVENTS, "a", "b", "c")), id="a projection that changes nothing"
        ),
        pytest.param(
            counted(select(EVENTS, "k = a", "b", "c"), ("k",)), counted(), id="a column renamed below"
        ),
        pytest.param(
            select(counted(), "a", "n", "m"),
            select(counted(), "a", "n = n + 1", "m"),
            id="what is done with a result",
        ),
        pytest.param(where(counted(), "n > 1"), where(counted(), "n > 2"), id="which newest rows are kept"),
    ],
)
def test_what_does_not_matter_does_not_show(before, after):
    assert facts(before) == facts(after)


def test_a_filter_before_state_goes_forward_only():
    before, after = signature(counted(where(EVENTS, "b > 1"))), signature(counted(where(EVENTS, "b > 2")))
    assert [o.facts for o in before.operators] == [o.facts for o in after.operators]
    assert before.operators[0].below != after.operators[0].below


def test_the_body_of_a_function_counts():
    node = counted(select(EVENTS, "a = py_key(a)", "b", "c"))
    assert facts(node, {"py_key": "one"}) != facts(node, {"py_key": "two"})


def test_types_and_nullability_count():
    node = counted()
    assert isinstance(node, Aggregate)
    first, *others = node.measures
    strict = replace(node, measures=(replace(first, call=replace(first.call, nullable=False)), *others))
    assert facts(node) != facts(strict)


def test_sources_count_in_their_order():
    one = join(topic("a", name="x"), topic("a", name="y"), "a = r_a")
    other = join(topic("a", name="y"), topic("a", name="x"), "a = r_a")
    assert signature(one).sources == tuple(reversed(signature(other).sources))


def test_a_query_without_state_has_no_operators():
    assert not signature(select(EVENTS, "a")).stateful


def test_a_long_chain_of_projections_is_no_deep_recursion():
    node = EVENTS
    for _ in range(2000):
        node = select(node, "a", "b = b + b", "c")
    assert len(str(facts(counted(node)))) < 2000


def test_the_time_zone_is_part_of_it():
    (query,) = planned(sink(counted(), "m"), timezone="Europe/Amsterdam").queries
    assert query.signature.timezone == "Europe/Amsterdam"
