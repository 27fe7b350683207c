"""The cycles of a directed graph, one for each strongly connected component."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from millstream.core.node_id import NodeId

Node = TypeVar("Node", str, NodeId)
"""A text or an id, which have an order."""

_EFFORT = 50
"""How often a component may be walked for its shortest cycle: linear, and exact up to 50 nodes."""


def shortest_cycles(edges: Mapping[Node, Iterable[Node]]) -> list[tuple[Node, ...]]:
    """Return every self-reference, and a shortest cycle of every strongly connected component.

    Each begins with its least id and follows the edges; edges to unknown ids are ignored.
    """
    sorted_edges = {
        node: sorted({other for other in edges[node] if other in edges}) for node in sorted(edges)
    }
    paths: list[tuple[Node, ...]] = [(node,) for node, others in sorted_edges.items() if node in others]
    for component in connected_components(sorted_edges):
        if len(component) > 1:
            within = {n: [o for o in sorted_edges[n] if o in component and o != n] for n in sorted(component)}
            paths.append(_shortest(within))
    return sorted(paths)


def connected_components(edges: Mapping[Node, list[Node]]) -> Iterator[set[Node]]:
    """Yield the strongly connected components, by Tarjan's algorithm without recursion."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: list[Node] = []
    is_open: set[Node] = set()
    for root in edges:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        is_open.add(root)
        path = [(root, iter(edges[root]))]
        while path:
            node, others = path[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    open_nodes.append(other)
                    is_open.add(other)
                    path.append((other, iter(edges[other])))
                    break
                if other in is_open:
                    low[node] = min(low[node], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    component = _take_from(open_nodes, node)
                    is_open -= component
                    yield component


def _take_from(nodes: list[Node], first: Node) -> set[Node]:
    """Remove and return everything from `first` to the end."""
    taken: set[Node] = set()
    while first not in taken:
        taken.add(nodes.pop())
    return taken


def _shortest(edges: Mapping[Node, list[Node]]) -> tuple[Node, ...]:
    best: tuple[Node, ...] = ()
    effort = _EFFORT * (len(edges) + sum(map(len, edges.values())))
    for start in edges:
        cycle, steps = _cycle_through(start, edges, len(best) - 1 if best else len(edges))
        best = cycle or best
        effort -= steps
        if len(best) == 2 or (best and effort < 0):
            break
    first = best.index(min(best))
    return best[first:] + best[:first]


def _cycle_through(
    start: Node, edges: Mapping[Node, list[Node]], longest: int
) -> tuple[tuple[Node, ...], int]:
    """Return a shortest cycle through `start` of at most `longest` nodes, or `()`, and the edges walked."""
    came_from: dict[Node, Node | None] = {start: None}
    level, steps = [start], 0
    for _ in range(longest):
        below: list[Node] = []
        for node in level:
            for other in edges[node]:
                steps += 1
                if other == start:
                    return _path(came_from, node), steps
                if other not in came_from:
                    came_from[other] = node
                    below.append(other)
        level = below
    return (), steps


def _path(came_from: Mapping[Node, Node | None], last: Node) -> tuple[Node, ...]:
    path = []
    following: Node | None = last
    while following is not None:
        path.append(following)
        following = came_from[following]
    return tuple(reversed(path))
