"""The heights at which nodes stand: long edges straight, neighbours level (Brandes and Köpf, 2001).

Four extreme assignments, to the top and bottom and from the left and right, are made and their medians taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from millstream.docs.layout.layers import LayeredGraph

Gap = Callable[[int, int], float]
"""The minimum distance of the centers of two successive nodes in a column."""


def place_nodes(layers: Sequence[Sequence[int]], graph: LayeredGraph, gap: Gap) -> dict[int, float]:
    """Return the centre of each node of these columns; edges to nodes outside them do not count."""
    inside = {node for layer in layers for node in layer}
    if not inside:
        return {}
    above = {node: [neighbour for neighbour in graph.above[node] if neighbour in inside] for node in inside}
    below = {node: [neighbour for neighbour in graph.below[node] if neighbour in inside] for node in inside}
    crossed = _crossed(layers, above, graph.real)
    assignments: list[dict[int, float]] = []
    for rightwards in (True, False):
        for downwards in (True, False):
            turned = [list(layer) if downwards else list(layer)[::-1] for layer in layers]
            turned = turned if rightwards else turned[::-1]
            root = _aligned(turned, above if rightwards else below, crossed)
            distance = gap if downwards else (lambda a, b: gap(b, a))
            heights = _compacted(turned, root, distance)
            assignments.append(heights if downwards else {node: -value for node, value in heights.items()})
    return _balanced(assignments)


def _crossed(layers: Sequence[Sequence[int]], above: dict[int, list[int]], real: int) -> set[tuple[int, int]]:
    """Return the pieces that cross a piece between two bends: the latter should be the straight one."""
    crossed: set[tuple[int, int]] = set()
    for before, layer in pairwise(layers):
        position = {node: index for index, node in enumerate(before)}
        first, done = 0, 0
        for index, node in enumerate(layer):
            inner = next((neighbour for neighbour in above[node] if node >= real and neighbour >= real), None)
            if inner is None and index < len(layer) - 1:
                continue
            last = len(before) if inner is None else position[inner]
            for other in layer[done : index + 1]:
                for neighbour in above[other]:
                    if not first <= position[neighbour] <= last and not (neighbour >= real and other >= real):
                        crossed.add((neighbour, other))
            first, done = last, index + 1
    return crossed


def _aligned(
    layers: Sequence[Sequence[int]], near: dict[int, list[int]], crossed: set[tuple[int, int]]
) -> dict[int, int]:
    """Join each node with its median neighbour of the column before: a block stands on one height.

    Return the first node of each block, by its members.
    """
    root = {node: node for layer in layers for node in layer}
    align = dict(root)
    for before, layer in pairwise(layers):
        position = {node: index for index, node in enumerate(before)}
        last = -1
        for node in layer:
            neighbours = sorted(near[node], key=position.__getitem__)
            for middle in _medians(len(neighbours)):
                neighbour = neighbours[middle]
                free = (neighbour, node) not in crossed and (node, neighbour) not in crossed
                if align[node] == node and free and last < position[neighbour]:
                    align[neighbour] = node
                    root[node] = root[neighbour]
                    align[node] = root[node]
                    last = position[neighbour]
    return root


def _medians(count: int) -> tuple[int, ...]:
    if not count:
        return ()
    return (count // 2,) if count % 2 else (count // 2 - 1, count // 2)


def _compacted(layers: Sequence[Sequence[int]], root: dict[int, int], gap: Gap) -> dict[int, float]:
    """Place blocks as far up as they go, then bring those that stand on top down to what is below them.

    Blocks and what must stand between them are a graph without cycles: two passes over its order are enough,
    with no classes to be shifted.
    """
    after: dict[int, dict[int, float]] = {block: {} for block in root.values()}
    before: dict[int, dict[int, float]] = {block: {} for block in root.values()}
    for layer in layers:
        for one, other in pairwise(layer):
            upper, lower = root[one], root[other]
            least = max(after[upper].get(lower, 0.0), gap(one, other))
            after[upper][lower] = before[lower][upper] = least
    waiting = {block: len(blocks) for block, blocks in before.items()}
    order = [block for block, count in waiting.items() if not count]
    heights = dict.fromkeys(after, 0.0)
    for block in order:
        for lower, least in after[block].items():
            heights[lower] = max(heights[lower], heights[block] + least)
            waiting[lower] -= 1
            if not waiting[lower]:
                order.append(lower)
    for block in reversed(order):
        if after[block] and not before[block]:
            heights[block] = min(heights[lower] - least for lower, least in after[block].items())
    return {node: heights[block] for node, block in root.items()}


def _balanced(assignments: list[dict[int, float]]) -> dict[int, float]:
    """Align the four layouts with the narrowest one, and take the mean of the middle two."""
    spans = [(min(heights.values()), max(heights.values())) for heights in assignments]
    narrow = min(range(len(assignments)), key=lambda index: spans[index][1] - spans[index][0])
    shifts = [
        spans[narrow][0] - first if index % 2 == 0 else spans[narrow][1] - last
        for index, (first, last) in enumerate(spans)
    ]
    centres: dict[int, float] = {}
    for node in assignments[0]:
        four = sorted(heights[node] + shift for heights, shift in zip(assignments, shifts, strict=True))
        centres[node] = (four[1] + four[2]) / 2
    return centres
