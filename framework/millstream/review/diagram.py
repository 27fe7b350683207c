"""What changed and its neighbours, as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.compile.manifest import Manifest, ManifestNode
from millstream.core.diagram import Diagram, Edge, Node, Shape, mermaid
from millstream.review.values import NodeChange

_MOST = 40
"""Larger diagrams are not readable."""
_SHAPES: dict[str, Shape] = {"source": "store", "exposure": "hexagon"}
_DRAWN = {"model", "source", "seed", "exposure"}
_STYLES = {
    "added": "fill:#dafbe1,stroke:#1a7f37,color:#1f2328",
    "removed": "fill:#ffebe9,stroke:#cf222e,color:#1f2328,stroke-dasharray:4 3",
    "changed": "fill:#fff8c5,stroke:#9a6700,color:#1f2328",
    "affected": "stroke:#9a6700,stroke-dasharray:4 3",
}
"""Colors that are readable on light and dark pages."""


def diagram(old: Manifest, new: Manifest, nodes: Mapping[str, NodeChange]) -> str:
    """Return a drawing; empty if nothing changed, or if it would be too large."""
    changed = {id_: change for id_, change in nodes.items() if change.kind in _DRAWN}
    before, after = _edges(old), _edges(new)
    edges = {edge for edge in before | after if any(end in changed for end in edge)}
    ids = sorted({end for edge in edges for end in edge} | set(changed))
    if not changed or len(ids) > _MOST:
        return ""
    drawn = tuple(_node(id_, new.nodes.get(id_) or old.nodes.get(id_), changed.get(id_)) for id_ in ids)
    arrows = tuple(
        Edge(*edge, line="plain" if edge in before & after else "added" if edge in after else "removed")
        for edge in sorted(edges)
    )
    return mermaid(Diagram(drawn, arrows, styles=_STYLES))


def _node(id_: str, node: ManifestNode | None, change: NodeChange | None) -> Node:
    name, style = id_.partition(".")[2], _style(change)
    if node is None:
        return Node(id_, (name,), style=style)
    if (stored := node.materialization) is None:
        return Node(id_, (name, node.kind), shape=_SHAPES.get(node.kind, "box"), style=style)
    if not stored.stored_as:
        return Node(id_, (name,), style=style)
    return Node(id_, (name, stored.word), shape="store", style=style)


def _edges(manifest: Manifest) -> set[tuple[str, str]]:
    return {(p, n.id) for n in manifest.nodes.values() if n.kind in _DRAWN for p in n.depends_on}


def _style(change: NodeChange | None) -> str:
    if change is None:
        return ""
    return "changed" if change.status == "renamed" else change.status
