"""Heights for crowded graphs: every node as near to the mean of its neighbours as its column lets it.

Where edges are many, straight ones push all else apart; here the picture stays as small as its fullest
column.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from millstream.docs.layout.layers import Layered
from millstream.docs.layout.position import Gap

_SWEEPS = 16


def relaxed(layers: Sequence[Sequence[int]], graph: Layered, gap: Gap) -> dict[int, float]:
    inside = {node for layer in layers for node in layer}
    pulls = {node: _pulls(node, graph, inside) for node in inside}
    steps = [[gap(a, b) for a, b in pairwise(layer)] for layer in layers]
    heights: dict[int, float] = {}
    for layer, gaps in zip(layers, steps, strict=True):
        # Center all columns on one line.
        height = -sum(gaps) / 2
        for node, step in zip(layer, [*gaps, 0.0], strict=False):
            heights[node] = height
            height += step
    for sweep in range(_SWEEPS):
        columns = range(len(layers)) if sweep % 2 == 0 else range(len(layers) - 1, -1, -1)
        for column in columns:
            layer = layers[column]
            ideal, weights = [], []
            for node in layer:
                total = sum(weight for _, weight in pulls[node])
                pulled = sum(heights[other] * weight for other, weight in pulls[node])
                ideal.append(pulled / total if total else heights[node])
                weights.append(total or 0.1)
            heights.update(zip(layer, apart_by(steps[column], ideal, weights), strict=True))
    return heights


def _pulls(node: int, graph: Layered, inside: set[int]) -> list[tuple[int, int]]:
    """Return a node's neighbours; bends hold each other, so that long edges become straight."""
    pulls = []
    for other in (*graph.above[node], *graph.below[node]):
        if other in inside:
            bends = (node >= graph.real) + (other >= graph.real)
            pulls.append((other, (1, 3, 9)[bends]))
    return pulls


def apart_by(steps: Sequence[float], ideal: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the heights nearest to those wanted (least squares) that are apart by these steps.

    Neighbours that would come too near become one block at the mean of what they want (pool adjacent
    violators).
    """
    offsets = [0.0]
    for step in steps:
        offsets.append(offsets[-1] + step)
    blocks: list[tuple[float, float, int]] = []
    for want, offset, weight in zip(ideal, offsets, weights, strict=False):
        mean, total, count = want - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, heavy, many = blocks.pop()
            mean = (mean * total + before * heavy) / (total + heavy)
            total, count = total + heavy, count + many
        blocks.append((mean, total, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]
