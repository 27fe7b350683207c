"""The nodes below some others, however deep they are."""

from __future__ import annotations

from collections.abc import Container, Iterable

from millstream.plan.nodes.base import Node


def in_order(roots: Iterable[Node], known: Container[int] = ()) -> list[Node]:
    """Return all nodes, each once and after its inputs; not those whose `id` is known, nor what they read."""
    done: dict[int, Node] = {}
    for root in roots:
        way = [(root, iter(root.inputs))] if id(root) not in done and id(root) not in known else []
        while way:
            node, inputs = way[-1]
            for each in inputs:
                if id(each) not in done and id(each) not in known:
                    way.append((each, iter(each.inputs)))
                    break
            else:
                done[id(node)] = node
                way.pop()
    return list(done.values())
