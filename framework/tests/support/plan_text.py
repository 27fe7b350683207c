"""A plan as text: one line a node, inputs below; a shared node is written once and named where it is read."""

from __future__ import annotations

from millstream.plan.nodes import Node, Plan
from millstream.plan.text import shared_names


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
            waiting += [(each, depth + 1) for each in reversed(node.inputs)]
    return "\n".join(lines) + "\n"
