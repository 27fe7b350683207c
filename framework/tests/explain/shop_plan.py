"""A plan by hand: two models share a filtered view, one of them keeps state, one looks up a seed and calls Python."""

from __future__ import annotations

from msgspec.structs import replace
from support.plans import by, group, lookup, output, seed, select, topic, where

from millstream.core.node_id import NodeId
from millstream.outputs.registry import materialization_of
from millstream.plan.nodes import Node, Output, Plan
from millstream.plan.optimizer.context import PlanChange, PlanHints
from millstream.plan.optimizer.driver import OptimizedPlan, RuleStep


def named(node: Node, label: str, model: str = "") -> Node:
    return replace(node, label=label, models=(NodeId("model", model or label),))


def stored(node: Node, model: str, kind: str = "sink", *keys: str, **options: object) -> Output:
    stored_output = output(node, model, *keys)
    config = {"materialized": kind, "key": [*keys], "unique_key": [*keys], **options}
    return replace(
        stored_output, materialization=materialization_of(model, config), models=(NodeId("model", model),)
    )


def filtered(source: Node) -> Node:
    return named(where(source, "type = 'click' or type = 'view'"), "interesting_events")


def scored(good: Node) -> Output:
    with_products = replace(
        lookup(good, seed("id", "price"), "product_id = id"), models=(NodeId("model", "scored"),)
    )
    return stored(
        named(select(with_products, "user_id", "score = py_score(price)"), "scored"),
        "scored",
        "sink",
        "user_id",
    )


def counted(good: Node, source_key: str = "user_id") -> Output:
    together = replace(by(good, source_key), models=(NodeId("model", "counts"),))
    return stored(
        named(group(together, (source_key,), "clicks = count(value)"), "counts"),
        "counts",
        "table",
        source_key,
    )


def written() -> Plan:
    good = filtered(topic("type", "user_id", "product_id", "value", "unread"))
    other = where(topic("type", "user_id", "unread"), "type = 'click'")
    clicks = stored(named(other, "clicks"), "clicks", "sink", topic="all_clicks")
    return Plan((scored(good), counted(good), clicks))


def optimized() -> Plan:
    source = topic("type", "user_id", "product_id", "value")
    good = filtered(source)
    clicks = stored(named(where(source, "type = 'click'"), "clicks"), "clicks", "sink", topic="all_clicks")
    return Plan((scored(good), counted(good), clicks))


def optimized_plan() -> OptimizedPlan:
    before, after = written(), optimized()
    changes = (
        PlanChange("events is read once for interesting_events and clicks", (NodeId("model", "clicks"),)),
    )
    return OptimizedPlan(before, after, (RuleStep("share_equal", changes, before, after),))


HINTS = PlanHints(
    rows_per_second={NodeId("source", "events"): 1000.0},
    keeps={NodeId("model", "interesting_events"): 0.3},
)
