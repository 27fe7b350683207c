"""What nodes and moved parts of them are called for people."""

from __future__ import annotations

from millstream.plan.nodes import Decode, Node, Repartition, SeedScan, TableScan


def both(*nodes: Node) -> tuple[str, ...]:
    """Return the models of nodes that become one."""
    return tuple(dict.fromkeys(model for node in nodes for model in node.models))


def kind(node: Node) -> str:
    """Return what a node is in a sentence."""
    if isinstance(node, Repartition):
        return f"the repartition by {', '.join(node.keys) or 'nothing'}"
    if isinstance(node, Decode | TableScan | SeedScan):
        name = node.label or node.relation.rpartition(".")[2]
        return f"the decoding of {name}" if isinstance(node, Decode) else name
    return f"the {node.noun} of {node.label}" if node.label else f"the {node.noun}"
