"""Stacked states in one query with event time."""

from __future__ import annotations

from millstream.plan.nodes import Node
from millstream.plan.streaming import STATES, kind_of
from millstream.plan.traits import traits_of


def is_chained(node: Node) -> bool:
    """Return whether a state above this node would follow the watermark of other states.

    Spark then propagates the watermark from state to state (PropagateWatermarkSimulator), but not over a
    reused exchange. Without such a chain, all states of a query follow its single watermark
    (UseSingleWatermarkPropagator).
    """
    below = {*traits_of(node).below}
    return "watermark" in below and bool(below & {*STATES})


def has_chain(order: list[Node]) -> bool:
    """Return whether a query has stacked states."""
    return any(
        kind_of(node) in STATES and traits_of(node).mode != "static" and any(map(is_chained, node.inputs))
        for node in order
    )
