"""Diagrams in formats of other tools: values that describe a diagram, and a writer for each format."""

from millstream.core.diagram.dot import write_dot
from millstream.core.diagram.mermaid import write_mermaid
from millstream.core.diagram.values import Diagram, DiagramEdge, DiagramGroup, DiagramNode, Line, Shape

__all__ = [
    "Diagram",
    "DiagramEdge",
    "DiagramGroup",
    "DiagramNode",
    "Line",
    "Shape",
    "write_dot",
    "write_mermaid",
]
