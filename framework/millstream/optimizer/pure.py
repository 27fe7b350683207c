"""Which parts of a plan give the same rows however often they are calculated."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.plan.nodes import Node


def impure_nodes(order: Iterable[Node]) -> set[int]:
    """Return the `id`s of nodes that, or below which something, give other rows each time."""
    found: set[int] = set()
    for node in order:
        if not node.deterministic or any(id(each) in found for each in node.inputs):
            found.add(id(node))
    return found
