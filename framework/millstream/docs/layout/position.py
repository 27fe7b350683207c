"""The heights at which nodes stand: long edges straight, neighbours level (Brandes and Köpf, 2001).

Four extreme assignments, to the top and bottom and from the left and right, are made and their medians taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from millstream.docs.layout.layers import Layered

Gap = Callable[[int, int], float]
"""The minimum distance of the centers of two successive nodes in a column."""


def positions(layers: Sequence[Sequence[int]], graph: Layered, gap: Gap) -> dict[int, float]:
    """Return the centre of each node of these columns; edges to nodes outside them do not count."""
    inside = {node for layer in layers for node in layer}
    if not inside:
        return {}
    above = {node: [each for each in graph.above[node] if each in inside] for node in inside}
    below = {node: [each for each in graph.below[node] if each in inside] for node in inside}
    crossed = _crossed(layers, above, graph.real)
    found: list[dict[int, float]] = []
    for rightwards in (True, False):
        for downwards in (True, False):
            turned = [list(layer) if downwards else list(layer)[::-1] for layer in layers]
            turned = turned if rightwards else turned[::-1]
            root = _aligned(turned, above if rightwards else below, crossed)
            apart = gap if downwards else (lambda a, b: gap(b, a))
            at = _compacted(turned, root, apart)
            found.append(at if downwards else {node: -value for node, value in at.items()})
    return _balanced(found)


def _crossed(layers: Sequence[Sequence[int]], above: dict[int, list[int]], real: int) -> set[tuple[int, int]]:
    """Return the pieces that cross a piece between two bends: the latter should be the straight one."""
    found: set[tuple[int, int]] = set()
    for before, layer in pairwise(layers):
        place = {node: index for index, node in enumerate(before)}
        first, done = 0, 0
        for index, node in enumerate(layer):
            inner = next((each for each in above[node] if node >= real and each >= real), None)
            if inner is None and index < len(layer) - 1:
                continue
            last = len(before) if inner is None else place[inner]
            for other in layer[done : index + 1]:
                for each in above[other]:
                    if not first <= place[each] <= last and not (each >= real and other >= real):
                        found.add((each, other))
            first, done = last, index + 1
    return found


def _aligned(
    layers: Sequence[Sequence[int]], near: dict[int, list[int]], crossed: set[tuple[int, int]]
) -> dict[int, int]:
    """Join each node with its median neighbour of the column before: a block stands on one height.

    Return the first node of each block, by its members.
    """
    root = {node: node for layer in layers for node in layer}
    align = dict(root)
    for before, layer in pairwise(layers):
        place = {node: index for index, node in enumerate(before)}
        last = -1
        for node in layer:
            neighbours = sorted(near[node], key=place.__getitem__)
            for middle in _medians(len(neighbours)):
                each = neighbours[middle]
                free = (each, node) not in crossed and (node, each) not in crossed
                if align[node] == node and free and last < place[each]:
                    align[each] = node
                    root[node] = root[each]
                    align[node] = root[node]
                    last = place[each]
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
    waiting = {block: len(found) for block, found in before.items()}
    order = [block for block, count in waiting.items() if not count]
    at = dict.fromkeys(after, 0.0)
    for block in order:
        for lower, least in after[block].items():
            at[lower] = max(at[lower], at[block] + least)
            waiting[lower] -= 1
            if not waiting[lower]:
                order.append(lower)
    for block in reversed(order):
        if after[block] and not before[block]:
            at[block] = min(at[lower] - least for lower, least in after[block].items())
    return {node: at[block] for node, block in root.items()}


def _balanced(found: list[dict[int, float]]) -> dict[int, float]:
    """Align the four layouts with the narrowest one, and take the mean of the middle two."""
    spans = [(min(each.values()), max(each.values())) for each in found]
    narrow = min(range(len(found)), key=lambda index: spans[index][1] - spans[index][0])
    shifts = [
        spans[narrow][0] - first if index % 2 == 0 else spans[narrow][1] - last
        for index, (first, last) in enumerate(spans)
    ]
    centres: dict[int, float] = {}
    for node in found[0]:
        four = sorted(each[node] + shift for each, shift in zip(found, shifts, strict=True))
        centres[node] = (four[1] + four[2]) / 2
    return centres
