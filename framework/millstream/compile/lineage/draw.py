"""Lineage as a diagram, and as data for programs."""

from __future__ import annotations

from typing import Any

from millstream.compile.lineage.values import Lineage, LineageEdge, LineageEnd
from millstream.core.diagram import Diagram, DiagramEdge, DiagramNode


def draw_diagram(lineage: Lineage) -> Diagram:
    nodes = tuple(DiagramNode(str(end), (str(end),)) for end in lineage.ends)
    edges = tuple(DiagramEdge(str(edge.parent), str(edge.child), edge.kind) for edge in lineage.edges)
    return Diagram(nodes, edges)


def as_data(lineage: Lineage) -> dict[str, Any]:
    return {
        "root": _end(lineage.root) if lineage.root else None,
        "nodes": [_end(end) for end in lineage.ends],
        "upstream": [_edge(edge) for edge in lineage.upstream],
        "downstream": [_edge(edge) for edge in lineage.downstream],
    }


def _end(end: LineageEnd) -> dict[str, Any]:
    return {"id": str(end), "node": end.node, "column": end.column or None}


def _edge(edge: LineageEdge) -> dict[str, Any]:
    return {"parent": str(edge.parent), "child": str(edge.child), "kind": edge.kind or None}
