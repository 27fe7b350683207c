"""Names of nodes for messages."""

from __future__ import annotations

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Decode, Node, Repartition, RowsScan


def models_of(*nodes: Node) -> tuple[NodeId, ...]:
    return tuple(dict.fromkeys(model for node in nodes for model in node.models))


def node_kind(node: Node) -> str:
    """Return the name of a node in a sentence."""
    if isinstance(node, Repartition):
        return f"the repartition by {', '.join(node.keys) or 'nothing'}"
    if isinstance(node, Decode | RowsScan):
        name = node.label or node.relation.last_name
        return f"the decoding of {name}" if isinstance(node, Decode) else name
    return f"the {node.noun} of {node.label}" if node.label else f"the {node.noun}"
