"""The topological order of nodes, without recursion."""

from __future__ import annotations

from collections.abc import Container, Iterable

from millstream.plan.nodes.base import Node


def in_order(roots: Iterable[Node], known: Container[int] = ()) -> list[Node]:
    """Return all nodes, each once and after its inputs, except those with a known `id` and their inputs."""
    done: dict[int, Node] = {}
    for root in roots:
        path = [(root, iter(root.inputs))] if id(root) not in done and id(root) not in known else []
        while path:
            node, inputs = path[-1]
            for each in inputs:
                if id(each) not in done and id(each) not in known:
                    path.append((each, iter(each.inputs)))
                    break
            else:
                done[id(node)] = node
                path.pop()
    return list(done.values())
