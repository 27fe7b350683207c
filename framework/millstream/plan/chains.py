"""States that stand above each other in one query, with event time."""

from __future__ import annotations

from millstream.plan.nodes import Node
from millstream.plan.streaming import STATES, kind_of
from millstream.plan.traits import traits_of


def is_chained(node: Node) -> bool:
    """Tell whether a state above this node would follow others, and their watermark.

    Spark then passes the watermark on from state to state (PropagateWatermarkSimulator), and none over an
    exchange that it reuses. Without such a chain all states of a query follow its one watermark
    (UseSingleWatermarkPropagator), wherever they stand.
    """
    below = {*traits_of(node).below}
    return "watermark" in below and bool(below & {*STATES})


def has_chain(order: list[Node]) -> bool:
    """Tell whether a query has states that stand above each other."""
    return any(
        kind_of(node) in STATES and traits_of(node).mode != "static" and any(map(is_chained, node.inputs))
        for node in order
    )
