"""The values of a diagram. Texts are not escaped; the writers escape them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Shape = Literal["box", "store", "state", "hexagon"]
Line = Literal["plain", "added", "removed"]


class DiagramNode(Struct, frozen=True):
    id: str
    """Unique in the diagram."""
    lines: tuple[str, ...]
    """Its label. The first line is shown in full, the others are shortened."""
    heading: bool = False
    """The first line is a heading."""
    shape: Shape = "box"
    style: str = ""
    """The name of one of the diagram's styles."""
    notes: tuple[tuple[str, str], ...] = ()
    """More lines of the label, with their names, for formats without tooltips."""
    tip: str = ""
    """Its tooltip."""


class DiagramEdge(Struct, frozen=True):
    source: str
    target: str
    label: str = ""
    line: Line = "plain"


class DiagramGroup(Struct, frozen=True):
    """Nodes inside a frame."""

    title: str
    nodes: tuple[str, ...]


class Diagram(Struct, frozen=True):
    nodes: tuple[DiagramNode, ...]
    edges: tuple[DiagramEdge, ...]
    groups: tuple[DiagramGroup, ...] = ()
    styles: dict[str, str] = {}
    """CSS by name, for formats that support it."""


def cut_text(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
