"""The names of a plan's nodes, taken from models and columns."""

from __future__ import annotations

from millstream.plan.nodes import Node, Plan
from millstream.plan.nodes.order import in_order
from millstream.plan.walk import consumers


def shared_names(plan: Plan) -> dict[int, str]:
    """Return names for the nodes that several others read."""
    readers = consumers(plan)
    found: dict[int, str] = {}
    used: set[str] = set()
    for node in in_order(plan.outputs):
        if len(readers[id(node)]) > 1:
            base = name_of(node)
            name = base
            while name in used:
                name += "_"
            used.add(name)
            found[id(node)] = name
    return found


def name_of(node: Node) -> str:
    """Return a node's name: its label, or one after its input."""
    steps: list[str] = []
    while not node.label and node.inputs:
        steps.append(node.participle or node.operator)
        node = node.inputs[0]
    return "_".join([node.label or "rows", *reversed(steps)])
