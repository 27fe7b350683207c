"""Rows with an event time, or of a lookup above state, that several steps read: a copy of the SQL for each.

If such rows are written once and read twice, Spark puts them behind one exchange, since their filter is not
deterministic. That costs a shuffle. In chained stateful operators, one above a reused exchange also sees no
watermark, and its windows never close: a reused exchange is a leaf of its plan (WatermarkPropagator).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence

from msgspec.structs import replace

from millstream.plan.chains import has_chain
from millstream.plan.nodes import Node, Watermark
from millstream.plan.nodes.order import in_order
from millstream.queries.emit.above_state import is_guarded

Leaf = Callable[[Node], "str | None"]
"""Returns the view that stands for a node, or None if the node is written as SQL."""


def own_copies(
    roots: Sequence[Node], leaf: Leaf, once: Container[int]
) -> tuple[list[Node], Mapping[int, Node]]:
    """Return the roots with a copy of such rows for each reader, and the copies of nodes that have only one.

    `once` has the `id`s of the latter.
    """
    reachable = reached_nodes(roots, leaf)
    order = [node for node in in_order(roots) if id(node) in reachable]
    marked = _marked(order, leaf)
    readers = Counter(map(id, roots))
    readers.update(id(child) for node in order if leaf(node) is None for child in node.inputs)
    several = {
        id(node) for node in order if id(node) in marked and leaf(node) is None and readers[id(node)] > 1
    }
    chained = has_chain(order)
    if not chained and all(name in once for name in several):
        return list(roots), {}
    copying = _Copying(marked, leaf, once, chained=chained)
    return [copying.copied(root) for root in roots], copying.single_copies


def reached_nodes(roots: Sequence[Node], leaf: Leaf) -> set[int]:
    """Return the `id`s of the nodes to write, and of the leaves that they read."""
    ids: set[int] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in ids:
            ids.add(id(node))
            if leaf(node) is None:
                waiting += node.inputs
    return ids


def _marked(order: Sequence[Node], leaf: Leaf) -> set[int]:
    """Return the `id`s of nodes whose rows passed a condition that is not deterministic."""
    marked: set[int] = set()
    for node in order:
        if leaf(node) is None and (
            isinstance(node, Watermark)
            or is_guarded(node)
            or any(id(child) in marked for child in node.inputs)
        ):
            marked.add(id(node))
    return marked


class _Copying:
    def __init__(self, marked: set[int], leaf: Leaf, once: Container[int], *, chained: bool) -> None:
        self.marked = marked
        self.leaf = leaf
        self.once = once
        self.chained = chained
        self.watermarks = 0
        self.seen: set[int] = set()
        self.single_copies: dict[int, Node] = {}

    def copied(self, root: Node) -> Node:
        """Walk down each path separately, without recursion: plans can be deep."""
        frames: list[tuple[Node, list[Node]]] = [(root, [])]
        while True:
            node, done = frames[-1]
            copy = self._finished(node, done)
            if copy is None:
                frames.append((node.inputs[len(done)], []))
                continue
            frames.pop()
            if not frames:
                return copy
            frames[-1][1].append(copy)

    def _finished(self, node: Node, done: list[Node]) -> Node | None:
        if id(node) not in self.marked or self.leaf(node) is not None:
            return node
        if id(node) in self.single_copies:
            return self.single_copies[id(node)]
        if len(done) < len(node.inputs):
            return None
        copy = node.with_inputs(*done)
        if isinstance(copy, Watermark) and self.chained:
            copy = replace(copy, copy=self.watermarks)
            self.watermarks += 1
        elif copy is node and id(node) in self.seen:
            copy = replace(node)
        self.seen.add(id(node))
        if id(node) in self.once:
            self.single_copies[id(node)] = copy
        return copy
