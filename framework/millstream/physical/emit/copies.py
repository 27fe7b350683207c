"""Rows with an event time, or of a lookup above state, that several steps read: a copy of the SQL for each.

If such rows are written once and read twice, Spark puts them behind one exchange, since their filter is not
deterministic. That costs a shuffle. In chained stateful operators, one above a reused exchange also sees no
watermark, and its windows never close: a reused exchange is a leaf of its plan (WatermarkPropagator).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence

from msgspec.structs import replace

from millstream.physical.emit.above_state import is_guarded
from millstream.plan.chains import has_chain
from millstream.plan.nodes import Node, Watermark
from millstream.plan.nodes.order import in_order

Leaf = Callable[[Node], "str | None"]
"""Returns the view that stands for a node, or None if the node is written as SQL."""


def own_copies(roots: Sequence[Node], leaf: Leaf, once: Container[int]) -> list[Node]:
    """Return the roots with a copy of such rows for each reader; `once` has `id`s to copy only once."""
    known = reached(roots, leaf)
    order = [node for node in in_order(roots) if id(node) in known]
    marked = _marked(order, leaf)
    readers = Counter(map(id, roots))
    readers.update(id(each) for node in order if leaf(node) is None for each in node.inputs)
    several = {id(n) for n in order if id(n) in marked and leaf(n) is None and readers[id(n)] > 1}
    chained = has_chain(order)
    if not chained and all(name in once for name in several):
        return list(roots)
    copying = _Copying(marked, leaf, once, chained=chained)
    return [copying.copied(root) for root in roots]


def reached(roots: Sequence[Node], leaf: Leaf) -> set[int]:
    """Return the `id`s of the nodes to write, and of the leaves that they read."""
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found.add(id(node))
            if leaf(node) is None:
                waiting += node.inputs
    return found


def _marked(order: Sequence[Node], leaf: Leaf) -> set[int]:
    """Return the `id`s of nodes whose rows passed a condition that is not deterministic."""
    found: set[int] = set()
    for node in order:
        if leaf(node) is None and (
            isinstance(node, Watermark) or is_guarded(node) or any(id(each) in found for each in node.inputs)
        ):
            found.add(id(node))
    return found


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
            found = self._finished(node, done)
            if found is None:
                frames.append((node.inputs[len(done)], []))
                continue
            frames.pop()
            if not frames:
                return found
            frames[-1][1].append(found)

    def _finished(self, node: Node, done: list[Node]) -> Node | None:
        if id(node) not in self.marked or self.leaf(node) is not None:
            return node
        if id(node) in self.single_copies:
            return self.single_copies[id(node)]
        if len(done) < len(node.inputs):
            return None
        found = node.with_inputs(*done)
        if isinstance(found, Watermark) and self.chained:
            found = replace(found, copy=self.watermarks)
            self.watermarks += 1
        elif found is node and id(node) in self.seen:
            found = replace(node)
        self.seen.add(id(node))
        if id(node) in self.once:
            self.single_copies[id(node)] = found
        return found
