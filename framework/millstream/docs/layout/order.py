"""The order of nodes within their columns: median sweeps to and fro, then swaps of neighbours."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

from millstream.docs.layout.layers import LayeredGraph

_SWEEPS = 12
_SWAPPED = 4_000
"""In larger graphs, swaps of neighbours take too long."""


def order_layers(graph: LayeredGraph, band: Sequence[int]) -> list[list[int]]:
    """Return the columns from the left, each from above; nodes of one band stay together."""
    layers = _first(graph, band)
    best, fewest = [list(layer) for layer in layers], count_crossings(layers, graph.below)
    for sweep in range(_SWEEPS if graph.count < 20_000 else _SWEEPS // 2):
        rightwards = sweep % 2 == 0
        near = graph.above if rightwards else graph.below
        columns = range(1, len(layers)) if rightwards else range(len(layers) - 2, -1, -1)
        for column in columns:
            before = layers[column - 1 if rightwards else column + 1]
            _sort(layers[column], before, near, band, median=sweep % 4 < 2)
        if graph.count < _SWAPPED:
            _swap(graph, layers, band)
        crossed = count_crossings(layers, graph.below)
        if crossed < fewest:
            best, fewest = [list(layer) for layer in layers], crossed
        if not crossed:
            break
    return best


def _first(graph: LayeredGraph, band: Sequence[int]) -> list[list[int]]:
    """Start with the order of a depth-first walk, which keeps related nodes close."""
    seen = [False] * graph.count
    layers: list[list[int]] = [[] for _ in range(max(graph.rank, default=-1) + 1)]
    roots = sorted((n for n in range(graph.count) if not graph.above[n]), key=lambda n: (band[n], n))
    for root in roots:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if not seen[node]:
                seen[node] = True
                layers[graph.rank[node]].append(node)
                waiting += reversed(graph.below[node])
    for layer in layers:
        layer.sort(key=lambda node: band[node])
    return layers


def _sort(
    layer: list[int],
    before: Sequence[int],
    near: Sequence[Sequence[int]],
    band: Sequence[int],
    *,
    median: bool,
) -> None:
    position = {node: index for index, node in enumerate(before)}
    ideal: dict[int, float] = {}
    for index, node in enumerate(layer):
        positions = sorted(position[neighbour] for neighbour in near[node] if neighbour in position)
        if not positions:
            # Nodes without neighbours there roughly keep their position.
            ideal[node] = index * len(before) / max(len(layer), 1)
        elif median:
            middle = len(positions) // 2
            ideal[node] = (
                positions[middle] if len(positions) % 2 else (positions[middle - 1] + positions[middle]) / 2
            )
        else:
            ideal[node] = sum(positions) / len(positions)
    layer.sort(key=lambda node: (band[node], ideal[node]))


def _swap(graph: LayeredGraph, layers: list[list[int]], band: Sequence[int]) -> None:
    """Swap neighbours in a column if that removes crossings."""
    position = [0] * graph.count
    for layer in layers:
        for index, node in enumerate(layer):
            position[node] = index
    for layer in layers:
        better = True
        while better:
            better = False
            for index in range(len(layer) - 1):
                one, other = layer[index], layer[index + 1]
                if band[one] == band[other] and _gain(graph, one, other, position) > 0:
                    layer[index], layer[index + 1] = other, one
                    position[one], position[other] = index + 1, index
                    better = True


def _gain(graph: LayeredGraph, one: int, other: int, position: Sequence[int]) -> int:
    """Return how many crossings are removed if `other`, now below `one`, is moved above it."""
    gain = 0
    for near in (graph.above, graph.below):
        first, second = [position[n] for n in near[one]], [position[n] for n in near[other]]
        for a in first:
            for b in second:
                gain += (a > b) - (a < b)
    return gain


def count_crossings(layers: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    """Return how many pairs of edges cross between neighbouring columns."""
    count = 0
    for upper, lower in pairwise(layers):
        position = {node: index for index, node in enumerate(lower)}
        seen: list[int] = []
        for node in upper:
            ends = [position[target] for target in below[node] if target in position]
            # An edge crosses those from above that end below it.
            count += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return count
