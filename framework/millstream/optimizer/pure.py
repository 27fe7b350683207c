"""Finds the parts of a plan that are not deterministic."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.plan.nodes import Node


def impure_nodes(order: Iterable[Node]) -> set[int]:
    """Return the `id`s of nodes that are not deterministic, or have an input that is not."""
    found: set[int] = set()
    for node in order:
        if not node.deterministic or any(id(each) in found for each in node.inputs):
            found.add(id(node))
    return found
