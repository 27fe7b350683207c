"""Names of the relations within a query's SQL: after models and sources, and the last operation on them."""

from __future__ import annotations

from millstream.plan.nodes import Binary, Decode, Node, Repartition, Stateful, TopicScan


def node_name(node: Node) -> str:
    """Return a node's label, or the name of what it reads and the last operation on it."""
    suffix = ""
    while True:
        if node.label and not isinstance(node, TopicScan):
            return f"{node.label}{suffix}"
        match node:
            case Decode():
                return f"{node.relation.last_name}{suffix}"
            case TopicScan():
                return f"{node.topics[0]}{suffix}"
            case Repartition(keys=keys):
                suffix = suffix or (f"_by_{'_'.join(keys)}" if keys else "_together")
            case Stateful(function=function):
                suffix = suffix or f"_{function}"
            case Binary():
                suffix = suffix or "_joined"
            case _:
                suffix = suffix or (f"_{node.participle}" if node.participle else "")
        if not node.inputs:
            return f"rows{suffix}"
        node = node.inputs[0]
