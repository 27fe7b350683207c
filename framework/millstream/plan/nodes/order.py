"""The orders of nodes, without recursion."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

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


def from_results(roots: Sequence[Node]) -> list[Node]:
    """Return all nodes, each once, before its inputs and next to the first of them: as Spark walks a plan."""
    done: dict[int, Node] = {}
    waiting = [*reversed(roots)]
    while waiting:
        node = waiting.pop()
        if id(node) not in done:
            done[id(node)] = node
            waiting += reversed(node.inputs)
    return list(done.values())
