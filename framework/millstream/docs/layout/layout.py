"""The layout of a graph: all steps, and sizes in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from msgspec.structs import replace

from millstream.docs.layout.bands import bands
from millstream.docs.layout.layers import Layered, layered
from millstream.docs.layout.order import ordered
from millstream.docs.layout.position import Gap, positions
from millstream.docs.layout.rank import ranks
from millstream.docs.layout.relax import relaxed
from millstream.docs.layout.values import Box, ClusterBox, Column, Edge, Item, Layout, Route

BETWEEN_NODES, BETWEEN_BENDS, BETWEEN_BANDS = 14, 9, 22
PADDING, TITLE = 12, 20
"""The padding of a cluster's box, and the height of its name."""
MARGIN = 24
_HIGHER = 1.5
_LEAST, _MOST = 64, 220
"""Between columns; more where many edges change their height there."""
_LEAST_DOWN = 44
"""Between rows, unless boxes with their names are in between."""


def lay_out(items: Sequence[Item], edges: Sequence[Edge], *, down: bool = False) -> Layout:
    """Return the positions of nodes and edges; the graph must be acyclic.

    Edges go to the right. Or down: then what is called a column is a row, and each x is a y.
    """
    if not items:
        return Layout((), (), (), (), 0, 0)
    if down:
        items = [replace(item, width=item.height, height=item.width) for item in items]
    edges = sorted(set(edges))
    graph = layered(len(items), edges, ranks(len(items), edges))
    band = bands(items, edges, graph)
    layers = ordered(graph, band)
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
    items: Sequence[Item], graph: Layered, layers: list[list[int]], band: Sequence[int]
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


def _heights(layers: list[list[int]], graph: Layered, gap: Gap) -> dict[int, float]:
    """Prefer straight edges as long as they do not make the picture much higher than its fullest column."""
    straight = positions(layers, graph, gap)
    if not straight:
        return {}
    fullest = max(sum(gap(a, b) for a, b in pairwise(layer)) for layer in layers)
    if max(straight.values()) - min(straight.values()) <= _HIGHER * fullest + 200:
        return straight
    return relaxed(layers, graph, gap)


def _columns(
    items: Sequence[Item], graph: Layered, layers: list[list[int]], *, down: bool
) -> tuple[Column, ...]:
    widths = [max((items[node].width for node in layer if node < graph.real), default=8) for layer in layers]
    crowds = [sum(len(graph.below[node]) for node in layer) for layer in layers]
    least = _LEAST_DOWN if down and len({item.cluster for item in items}) == 1 else _LEAST
    gaps = [min(_MOST, least + round(crowd**0.5 * 6)) for crowd in crowds]
    first = MARGIN + PADDING + (TITLE if down else 0)
    starts = accumulate(
        (width + gap for width, gap in zip(widths[:-1], gaps[:-1], strict=True)), initial=first
    )
    return tuple(Column(x, width) for x, width in zip(starts, widths, strict=True))


def _clusters(
    items: Sequence[Item], boxes: Sequence[Box], columns: Sequence[Column], *, down: bool
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
