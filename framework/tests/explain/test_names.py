"""What operators are called."""

import pytest
import shop_plan
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from shop_plan import named, stored
from support.plans import (
    by,
    dedupe,
    explode,
    join,
    lookup,
    output,
    plan,
    seed,
    select,
    table,
    topic,
    union,
    watermark,
    where,
)

from millstream.core.node_id import NodeId
from millstream.explain.names import node_names
from millstream.plan.nodes import Node, Plan
from millstream.plan.nodes.order import in_order


def names(named_plan: Plan) -> list[str]:
    names_by_node = node_names(named_plan)
    return [names_by_node[id(node)] for node in in_order(named_plan.outputs)]


def test_names_come_from_models_and_columns() -> None:
    assert names(shop_plan.optimized()) == [
        "events.topic", "events", "interesting_events", "products", "scored.lookup_products", "scored", "scored.sink",
        "counts.by_user_id", "counts", "counts.table", "clicks", "clicks.sink",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("node", "name"),
    [
        (where(topic("a"), "a > 1"), "m.filter"),
        (select(topic("a"), "b = a + 1"), "m.select"),
        (by(topic("a", "b"), "a", "b"), "m.by_a_b"),
        (by(topic("a")), "m.together"),
        (dedupe(topic("a"), "a"), "m.first_by_a"),
        (watermark(topic("ts")), "m.watermark_ts"),
        (explode(topic("a"), "explode(a)", "one"), "m.explode"),
        (lookup(topic("a"), table("id"), "a = id"), "m.lookup_users"),
        (join(topic("a"), topic("b", name="others"), "a = b"), "m.join_others"),
        (union(topic("a"), topic("a", name="others")), "m.union"),
        (table("a"), "users.rows"),
        (replace(table("a"), changes=True), "users.changes"),
        (seed("a"), "products"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_operator_is_named_after_what_it_does(node: Node, name: str) -> None:
    planned = plan(node)
    assert node_names(planned)[id(node)] == name


def test_operators_of_one_kind_in_a_model_differ_by_their_columns() -> None:
    first = where(select(where(topic("a", "b"), "a > 1"), "a", "b"), "b > 1")
    assert [name for name in names(plan(first)) if "filter" in name] == ["m.filter_a", "m.filter_b"]


def test_reads_of_one_source_differ_by_who_reads() -> None:
    planned = Plan(tuple(stored(named(where(topic("a"), "a > 1"), m), m) for m in ("clicks", "views")))
    assert names(planned)[:2] == ["events.topic.for_clicks", "events.for_clicks"]


def test_a_topic_that_is_read_back_is_not_taken_for_the_model() -> None:
    back = topic("a", name="clicks")
    back = replace(
        back,
        relation=NodeId("model", "clicks"),
        input=replace(back.inputs[0], relation=NodeId("model", "clicks")),
    )
    planned = Plan(
        (
            stored(named(where(topic("a"), "a > 1"), "clicks"), "clicks"),
            stored(named(select(back, "a"), "n"), "n"),
        )
    )
    assert "clicks" in names(planned)
    assert "clicks.read_back" in names(planned)


def test_a_model_more_leaves_the_names_of_others() -> None:
    before = shop_plan.optimized()
    more = stored(named(by(before.outputs[0].input, "score"), "more"), "more")
    assert set(names(before)) < set(names(Plan((*before.outputs, more))))


_STEPS = st.lists(
    st.sampled_from(
        [
            lambda node: where(node, "a > 1"),
            lambda node: where(node, "a > 1", model="other"),
            lambda node: select(node, "a", "b"),
            lambda node: by(node, "a"),
            lambda node: union(node, node),
        ]
    ),
    max_size=12,
)


@given(st.lists(_STEPS, min_size=1, max_size=4), st.booleans())
def test_names_are_unique(models: list[list], shared: bool) -> None:
    source = topic("a", "b")
    outputs = []
    for index, steps in enumerate(models):
        node = source if shared else topic("a", "b")
        for step in steps:
            node = step(node)
        outputs.append(output(node, f"m{index}"))
    unique_names = names(Plan(tuple(outputs)))
    assert len(unique_names) == len(set(unique_names))
