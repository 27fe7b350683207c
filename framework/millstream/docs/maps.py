"""Maps of the whole project: without boxes, with a box for each folder, with a box for each query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from millstream.docs.layout.layout import lay_out
from millstream.docs.layout.values import Edge, Layout, LayoutItem
from millstream.docs.values import LineageMap, MapNode, SiteEntry

DRAWN = frozenset(("source", "seed", "model", "exposure", "metric"))
_HEIGHT, _CHARACTER, _PADDING, _WIDEST = 36, 7.2, 44, 260
_MUCH_LARGER = 1.8
"""A map with boxes is not shown first if it is larger than the plain map by this factor."""


def lineage_maps(entries: Sequence[SiteEntry]) -> tuple[LineageMap, ...]:
    """Return the maps; the first one is shown first."""
    numbers = [number for number, entry in enumerate(entries) if entry.kind in DRAWN]
    position = {number: index for index, number in enumerate(numbers)}
    edges = [
        (position[parent], position[number])
        for number in numbers
        for parent in entries[number].parents
        if parent in position
    ]
    folders = {position[n]: entries[n].folder for n in numbers if entries[n].folder}
    queries = {
        position[n]: entries[entries[n].queries[0]].name
        for n in numbers
        if entries[n].queries and entries[n].kind == "model"
    }
    by_name = {
        name: _map(name, entries, numbers, edges, clusters)
        for name, clusters in (("folder", folders), ("query", queries), ("none", {}))
        if clusters or name == "none"
    }
    plain = by_name["none"]
    area = plain.width * plain.height
    first = [
        name for name, map_ in by_name.items() if map_.width * map_.height <= area * _MUCH_LARGER + 400_000
    ]
    return tuple(sorted(by_name.values(), key=lambda map_: map_.name not in first))


def _map(
    name: str,
    entries: Sequence[SiteEntry],
    numbers: Sequence[int],
    edges: Sequence[Edge],
    clusters: Mapping[int, str],
) -> LineageMap:
    near = _near(len(numbers), edges, clusters)
    items = [
        LayoutItem(width_of(entries[number].name), _HEIGHT, clusters.get(index, ""), near.get(index, ""))
        for index, number in enumerate(numbers)
    ]
    layout = lay_out(items, edges)
    return as_map(name, layout, items, numbers)


def as_map(
    name: str, layout: Layout, items: Sequence[LayoutItem], numbers: Sequence[int], *, down: bool = False
) -> LineageMap:
    return LineageMap(
        name,
        layout.width,
        layout.height,
        layout.columns,
        tuple(
            MapNode(number, box.rank, box.y, item.width, item.height)
            for number, box, item in zip(numbers, layout.boxes, items, strict=True)
        ),
        layout.routes,
        layout.clusters,
        down,
    )


def width_of(name: str) -> int:
    return min(_WIDEST, round(len(name) * _CHARACTER) + _PADDING)


def _near(count: int, edges: Sequence[Edge], clusters: Mapping[int, str]) -> dict[int, str]:
    """Return for each node without a cluster the one that it has most edges to, directly or indirectly."""
    nearest = dict(clusters)
    for _ in range(3):
        votes: dict[int, Counter[str]] = {}
        for source, target in edges:
            for node, other in ((source, target), (target, source)):
                if node not in nearest and other in nearest:
                    votes.setdefault(node, Counter())[nearest[other]] += 1
        if not votes:
            break
        for node, counted in votes.items():
            nearest[node] = min(counted, key=lambda name: (-counted[name], name))
    return {node: name for node, name in nearest.items() if node not in clusters and node < count}
