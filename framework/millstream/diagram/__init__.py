"""Diagrams for other tools: values, and one writer for each format. Whoever draws says what, not how."""

from millstream.diagram.dot import dot
from millstream.diagram.mermaid import mermaid
from millstream.diagram.values import Diagram, Edge, Group, Line, Node, Shape

__all__ = ["Diagram", "Edge", "Group", "Line", "Node", "Shape", "dot", "mermaid"]
