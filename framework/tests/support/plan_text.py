"""A plan as text: one line a node, inputs below; a shared node is written once and named where it is read."""

from __future__ import annotations

from millstream.plan.nodes import Node, Plan
from millstream.plan.walk import find_consumers


def plan_text(plan: Plan) -> str:
    """Return the whole plan, outputs in their order."""
    names = shared_names(plan)
    written: set[int] = set()
    lines: list[str] = []
    for output in plan.outputs:
        waiting: list[tuple[Node, int]] = [(output, 0)]
        while waiting:
            node, depth = waiting.pop()
            name = names.get(id(node))
            if id(node) in written:
                lines.append(f"{'  ' * depth}^ {name}")
                continue
            mark = f"{name} = " if name else ""
            lines.append(f"{'  ' * depth}{mark}{node.summary}")
            if name:
                written.add(id(node))
            waiting += [(input_node, depth + 1) for input_node in reversed(node.inputs)]
    return "\n".join(lines) + "\n"


def shared_names(plan: Plan) -> dict[int, str]:
    """Return names for the nodes that several others read."""
    readers = find_consumers(plan)
    names: dict[int, str] = {}
    used: set[str] = set()
    for node in plan.order:
        if len(readers[id(node)]) > 1:
            name = name_of(node)
            while name in used:
                name += "_"
            used.add(name)
            names[id(node)] = name
    return names


def name_of(node: Node) -> str:
    """Return a node's name: its label, or one after its input."""
    steps: list[str] = []
    while not node.label and node.inputs:
        steps.append(node.participle or node.operator)
        node = node.inputs[0]
    return "_".join([node.label or "rows", *reversed(steps)])
