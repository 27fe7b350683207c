"""The topological order of nodes, without recursion."""

from __future__ import annotations

from collections.abc import Container, Iterable

from millstream.plan.nodes.base import Node


def in_order(roots: Iterable[Node], skipped: Container[int] = ()) -> list[Node]:
    """Return all nodes, each once and after its inputs, without those `skipped` by `id` and their inputs."""
    done: dict[int, Node] = {}
    for root in roots:
        path = [(root, iter(root.inputs))] if id(root) not in done and id(root) not in skipped else []
        while path:
            node, inputs = path[-1]
            for input_node in inputs:
                if id(input_node) not in done and id(input_node) not in skipped:
                    path.append((input_node, iter(input_node.inputs)))
                    break
            else:
                done[id(node)] = node
                path.pop()
    return list(done.values())
