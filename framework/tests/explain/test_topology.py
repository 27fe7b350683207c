"""Plans as drawings."""

import shop_plan
from msgspec.structs import replace
from support.plans import by, group, plan, sql, topic, watermark

from millstream.core.node_id import NodeId
from millstream.core.types import TIMESTAMP
from millstream.explain.topology import Drawing, DrawnNode, PlanEdge, abbreviate_metadata, draw_plan
from millstream.plan.nodes import METADATA, RECORD_HEADERS, RECORD_TIME, Item, Plan, Project


def node(drawing: Drawing, name: str) -> DrawnNode:
    return next(drawn for drawn in drawing.nodes if drawn.id == name)


def test_a_node_tells_what_it_does() -> None:
    counts = node(draw_plan(shop_plan.optimized()), "counts")
    assert (counts.kind, counts.mode, counts.keys, counts.partitioned) == (
        "aggregate",
        "upsert",
        ("user_id",),
        ("user_id",),
    )
    assert counts.state == "a row per user_id, kept until it is deleted"
    assert counts.columns == ("user_id", "clicks")
    assert dict(counts.details)["mode"] == "upsert by user_id"


def test_an_output_tells_its_topic() -> None:
    clicks = node(draw_plan(shop_plan.optimized()), "clicks.sink")
    assert (clicks.topic, clicks.output, clicks.line) == (
        "all_clicks",
        True,
        "sink clicks to topic all_clicks (append)",
    )


def test_a_state_tells_until_when() -> None:
    late = watermark(topic("ts", "a"))
    window = Item("w", sql("window(ts, '5 minutes')", TIMESTAMP))
    grouped = group(by(late, "a"), ("a",), "n = count(a)", label="counts")
    grouped = replace(grouped, keys=(*grouped.keys, window))
    assert (
        node(draw_plan(plan(grouped)), "m.counts").state
        == "a row per a, w, until the watermark of w has passed it"
    )
    without = replace(grouped, input=by(topic("ts", "a"), "a"))
    assert "kept forever" in node(draw_plan(plan(without)), "m.counts").state


def test_what_a_sink_sends_next_to_its_value_has_a_plain_name() -> None:
    shown = abbreviate_metadata(f"project id, {RECORD_TIME} = _timestamp, {RECORD_HEADERS} = _headers")
    assert shown == "project id, record_time = _timestamp, record_headers = _headers"
    rows = topic("a")
    items = (Item("a", sql("a")), Item(RECORD_TIME, sql("current_timestamp()", TIMESTAMP)))
    drawn = draw_plan(plan(Project(input=rows, items=items))).nodes
    assert next(node for node in drawn if node.kind == "select").columns == ("a", "record_time")
    assert not any("_millstream" in str(node) for node in drawn)


def test_edges_keep_the_order_of_inputs() -> None:
    drawing = draw_plan(shop_plan.optimized())
    assert [edge for edge in drawing.edges if edge.target == "scored.lookup_products"] == [
        PlanEdge("interesting_events", "scored.lookup_products"),
        PlanEdge("products", "scored.lookup_products"),
    ]


def test_every_end_of_an_edge_is_a_node() -> None:
    drawing = draw_plan(
        shop_plan.written(), [("one", frozenset((NodeId("model", "scored"), NodeId("model", "counts"))))]
    )
    names = [drawn.id for drawn in drawing.nodes]
    assert len(names) == len(set(names))
    assert {end for edge in drawing.edges for end in (edge.source, edge.target)} <= set(names)


def test_a_group_holds_what_its_query_runs() -> None:
    drawing = draw_plan(
        shop_plan.optimized(),
        [("q", frozenset((NodeId("model", "scored"), NodeId("model", "counts"), NodeId("model", "clicks"))))],
    )
    assert [group.name for group in drawing.groups] == ["q"]
    assert drawing.groups[0].nodes == tuple(drawn.id for drawn in drawing.nodes)


def test_what_two_queries_need_is_drawn_in_each() -> None:
    queries = [("a", frozenset(("model.scored", "model.clicks"))), ("b", frozenset(("model.counts",)))]
    drawing = draw_plan(shop_plan.optimized(), queries)
    assert {"events.in_a", "events.in_b"} <= {drawn.id for drawn in drawing.nodes}
    assert drawing.outputs == ("scored.sink", "counts.table", "clicks.sink")


def test_outputs_without_a_query_stand_alone() -> None:
    drawing = draw_plan(shop_plan.optimized(), [("a", frozenset((NodeId("model", "counts"),)))])
    grouped = {name for group in drawing.groups for name in group.nodes}
    assert "clicks.sink" not in grouped


def test_an_empty_plan_is_an_empty_drawing() -> None:
    assert draw_plan(Plan(())) == Drawing((), (), ())


def test_what_every_record_has_is_one_word() -> None:
    assert "decode json: a and metadata" in [
        drawn.line for drawn in draw_plan(plan(topic("a", meta=tuple(METADATA)))).nodes
    ]
    assert (
        abbreviate_metadata("leaves out _key, _topic, _partition, _offset, _timestamp, _headers")
        == "leaves out metadata"
    )
    assert abbreviate_metadata("a, _key") == "a, _key"
