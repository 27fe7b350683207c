"""The lineage of the live page: that of the site, as boxes and lines."""

from __future__ import annotations

from millstream.docs.values import LineageMap, Site
from millstream.ops.live_page.values import DrawnEdge, DrawnLineage, LineageNode

_SITE = "site/index.html#/page/"


def drawn_lineage(site: Site) -> DrawnLineage:
    layout = next(map_ for map_ in site.maps if map_.name == "none")
    entries = site.start.entries
    nodes = [
        LineageNode(
            entry.id,
            entry.name,
            entry.kind,
            entry.stored,
            layout.columns[node.rank].x,
            node.y,
            node.width,
            node.height,
            f"{_SITE}{entry.id}",
        )
        for node in layout.nodes
        for entry in [entries[node.entry]]
    ]
    return DrawnLineage(layout.width, layout.height, nodes, _edges(layout, nodes))


def _edges(layout: LineageMap, nodes: list[LineageNode]) -> list[DrawnEdge]:
    edges = []
    for route in layout.edges:
        source, target = nodes[route.source], nodes[route.target]
        first = layout.nodes[route.source].rank + 1
        points = [(source.x + source.width, source.y + source.height // 2)]
        for rank, y in enumerate(route.ys, first):
            column = layout.columns[rank]
            points += [(column.x, y), (column.x + column.width, y)]
        points.append((target.x, target.y + target.height // 2))
        edges.append(DrawnEdge(source.id, target.id, points))
    return edges
