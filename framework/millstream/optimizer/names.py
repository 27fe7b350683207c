"""What nodes and moved parts of them are called for people."""

from __future__ import annotations

from millstream.plan.nodes import Node, Repartition


def both(*nodes: Node) -> tuple[str, ...]:
    """Return the models of nodes that become one."""
    return tuple(dict.fromkeys(model for node in nodes for model in node.models))


def kind(node: Node) -> str:
    """Return what a node is in a sentence."""
    if isinstance(node, Repartition):
        return f"the repartition by {', '.join(node.keys) or 'nothing'}"
    name = {"Project": "projection", "Expand": "expansion"}.get(type(node).__name__)
    of = f" of {node.label}" if node.label else ""
    return f"the {name or type(node).__name__.lower()}{of}"
