"""Diagrams in formats of other tools: values that describe a diagram, and a writer for each format."""

from millstream.core.diagram.dot import dot
from millstream.core.diagram.mermaid import mermaid
from millstream.core.diagram.values import Diagram, Edge, Group, Line, Node, Shape

__all__ = ["Diagram", "Edge", "Group", "Line", "Node", "Shape", "dot", "mermaid"]
