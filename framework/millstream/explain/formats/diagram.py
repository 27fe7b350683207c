"""A drawing of a plan as a diagram, with a group for each query."""

from __future__ import annotations

from millstream.core.diagram import Diagram, DiagramEdge, DiagramGroup, DiagramNode, Shape
from millstream.explain.topology import Drawing, DrawnNode
from millstream.outputs.registry import KINDS

_STORES = frozenset(("topic", "seed", *(word for word, kind in KINDS.items() if kind.stored_as)))


def draw_diagram(drawing: Drawing) -> Diagram:
    return Diagram(
        tuple(map(_node, drawing.nodes)),
        tuple(DiagramEdge(edge.source, edge.target) for edge in drawing.edges),
        tuple(DiagramGroup(f"query {group.name}", group.nodes) for group in drawing.groups),
    )


def _node(node: DrawnNode) -> DiagramNode:
    notes = tuple((fact, text) for fact, text in node.details if fact in {"key", "state"})
    tip = "\n".join([node.line, *(f"{fact}: {text}" for fact, text in node.details)])
    shape: Shape = "state" if node.state else "store" if node.kind in _STORES else "box"
    return DiagramNode(node.id, (node.id, node.line), heading=True, shape=shape, notes=notes, tip=tip)
