"""The column of each node: right of all nodes that it reads, and as close to its neighbours as possible."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter

from millstream.docs.layout.values import Edge

_SWEEPS = 4


def ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        above[target].append(source)
        below[source].append(target)
    order = list(TopologicalSorter({node: above[node] for node in range(count)}).static_order())
    rank = [0] * count
    for node in order:
        rank[node] = max((rank[parent] + 1 for parent in above[node]), default=0)
    for _ in range(_SWEEPS):
        for node in reversed(order):
            _shorten(node, rank, above[node], below[node])
    without_gaps = {value: index for index, value in enumerate(sorted(set(rank)))}
    return [without_gaps[value] for value in rank]


def _shorten(node: int, rank: list[int], above: list[int], below: list[int]) -> None:
    """Move a node if that makes more of its edges shorter than longer."""
    first = max((rank[parent] + 1 for parent in above), default=0)
    if below and len(below) > len(above):
        rank[node] = min(rank[child] for child in below) - 1
    elif above:
        rank[node] = first
