"""The layout of a graph: all steps, and sizes in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from itertools import accumulate, pairwise

from msgspec.structs import replace

from millstream.docs.layout.bands import assign_bands
from millstream.docs.layout.layers import LayeredGraph, split_layers
from millstream.docs.layout.order import order_layers
from millstream.docs.layout.position import Gap, place_nodes
from millstream.docs.layout.values import Box, ClusterBox, Edge, Layout, LayoutColumn, LayoutItem, Route

# For crowded graphs: where edges are many, straight ones push all else apart; each node is as near to the
# mean of its neighbours as its column lets it, and the picture stays as small as its fullest column.
_RELAXATIONS = 16

_SWEEPS = 4

BETWEEN_NODES, BETWEEN_BENDS, BETWEEN_BANDS = 14, 9, 22
PADDING, TITLE = 12, 20
"""The padding of a cluster's box, and the height of its name."""
MARGIN = 24
_HIGHER = 1.5
_LEAST, _MOST = 64, 220
"""Between columns; more where many edges change their height there."""
_LEAST_DOWN = 44
"""Between rows, unless boxes with their names are in between."""


def lay_out(items: Sequence[LayoutItem], edges: Sequence[Edge], *, down: bool = False) -> Layout:
    """Return the positions of nodes and edges; the graph must be acyclic.

    Edges go to the right. Or down: then what is called a column is a row, and each x is a y.
    """
    if not items:
        return Layout((), (), (), (), 0, 0)
    if down:
        items = [replace(item, width=item.height, height=item.width) for item in items]
    edges = sorted(set(edges))
    graph = split_layers(len(items), edges, rank_nodes(len(items), edges))
    band = assign_bands(items, edges, graph)
    layers = order_layers(graph, band)
    centres = _centres(items, graph, layers, band)
    columns = _columns(items, graph, layers, down=down)
    boxes = [
        Box(graph.rank[node], round(centres[node] - item.height / 2), item.height)
        for node, item in enumerate(items)
    ]
    routes = tuple(
        Route(source, target, tuple(round(centres[bend]) for bend in chain))
        for (source, target), chain in zip(edges, graph.chains, strict=True)
    )
    last = columns[-1]
    height = max(round(max(centres) + MARGIN), *(box.y + box.height + MARGIN + PADDING for box in boxes))
    clusters = _clusters(items, boxes, columns, down=down)
    return Layout(columns, tuple(boxes), routes, clusters, last.x + last.width + MARGIN, height)


def _centres(
    items: Sequence[LayoutItem], graph: LayeredGraph, layers: list[list[int]], band: Sequence[int]
) -> list[float]:
    """Lay out each band separately, then one below the other, as close as their columns allow."""

    def half(node: int) -> float:
        return items[node].height / 2 if node < graph.real else 0.0

    def gap(one: int, other: int) -> float:
        bend = one >= graph.real or other >= graph.real
        distance = BETWEEN_BENDS if bend else BETWEEN_NODES
        if not bend and items[one].cluster != items[other].cluster:
            distance += 2 * PADDING + TITLE
        return half(one) + half(other) + distance

    framed = any(item.cluster for item in items)
    top = float(MARGIN + (TITLE + PADDING if framed else 0))
    centres = [0.0] * graph.count
    floor = top
    for number in range(max(band) + 1):
        part = [[node for node in layer if band[node] == number] for layer in layers]
        heights = _heights(part, graph, gap)
        if not heights:
            continue
        shift = floor - min(heights[node] - half(node) for node in heights)
        for node, value in heights.items():
            centres[node] = value + shift
        floor = max(centres[node] + half(node) for node in heights) + BETWEEN_BANDS
        floor += 2 * PADDING + TITLE if framed else 0
    return centres


def _heights(layers: list[list[int]], graph: LayeredGraph, gap: Gap) -> dict[int, float]:
    """Prefer straight edges as long as they do not make the picture much higher than its fullest column."""
    straight = place_nodes(layers, graph, gap)
    if not straight:
        return {}
    fullest = max(sum(gap(a, b) for a, b in pairwise(layer)) for layer in layers)
    if max(straight.values()) - min(straight.values()) <= _HIGHER * fullest + 200:
        return straight
    return relax_heights(layers, graph, gap)


def _columns(
    items: Sequence[LayoutItem], graph: LayeredGraph, layers: list[list[int]], *, down: bool
) -> tuple[LayoutColumn, ...]:
    widths = [max((items[node].width for node in layer if node < graph.real), default=8) for layer in layers]
    crowds = [sum(len(graph.below[node]) for node in layer) for layer in layers]
    least = _LEAST_DOWN if down and len({item.cluster for item in items}) == 1 else _LEAST
    gaps = [min(_MOST, least + round(crowd**0.5 * 6)) for crowd in crowds]
    first = MARGIN + PADDING + (TITLE if down else 0)
    starts = accumulate(
        (width + gap for width, gap in zip(widths[:-1], gaps[:-1], strict=True)), initial=first
    )
    return tuple(LayoutColumn(x, width) for x, width in zip(starts, widths, strict=True))


def _clusters(
    items: Sequence[LayoutItem], boxes: Sequence[Box], columns: Sequence[LayoutColumn], *, down: bool
) -> tuple[ClusterBox, ...]:
    before, above = (TITLE, 0) if down else (0, TITLE)
    members: dict[str, list[int]] = {}
    for node, item in enumerate(items):
        if item.cluster:
            members.setdefault(item.cluster, []).append(node)
    clusters: list[ClusterBox] = []
    for name, nodes in sorted(members.items()):
        left = min(columns[boxes[node].rank].x for node in nodes) - PADDING - before
        right = max(columns[boxes[node].rank].x + items[node].width for node in nodes) + PADDING
        top = min(boxes[node].y for node in nodes) - PADDING - above
        bottom = max(boxes[node].y + boxes[node].height for node in nodes) + PADDING
        clusters.append(ClusterBox(name, left, top, right - left, bottom - top))
    return tuple(clusters)


def rank_nodes(count: int, edges: Sequence[Edge]) -> list[int]:
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


def relax_heights(layers: Sequence[Sequence[int]], graph: LayeredGraph, gap: Gap) -> dict[int, float]:
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
    for sweep in range(_RELAXATIONS):
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


def _pulls(node: int, graph: LayeredGraph, inside: set[int]) -> list[tuple[int, int]]:
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
