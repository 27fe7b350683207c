"""What relations within a query's SQL are called: after models and sources, and what is done with them."""

from __future__ import annotations

from millstream.plan.nodes import (
    Binary,
    Decode,
    Node,
    Repartition,
    Stateful,
    TopicScan,
)


def called(node: Node) -> str:
    """Return a node's label, or what it is made of and the last thing that is done with it."""
    done = ""
    while True:
        if node.label and not isinstance(node, TopicScan):
            return f"{node.label}{done}"
        match node:
            case Decode():
                return f"{node.relation.rpartition('.')[2]}{done}"
            case TopicScan():
                return f"{node.topic}{done}"
            case Repartition(keys=keys):
                done = done or (f"_by_{'_'.join(keys)}" if keys else "_together")
            case Stateful(function=function):
                done = done or f"_{function}"
            case Binary():
                done = done or "_joined"
            case _:
                done = done or (f"_{node.participle}" if node.participle else "")
        if not node.inputs:
            return f"rows{done}"
        node = node.inputs[0]
