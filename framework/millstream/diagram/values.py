"""What a diagram consists of. All texts are as users wrote them: the writers escape them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Shape = Literal["box", "store", "state", "hexagon"]
Line = Literal["plain", "added", "removed"]


class Node(Struct, frozen=True):
    id: str
    """Unique in the diagram."""
    lines: tuple[str, ...]
    """Its label; the first line is written in full, the others are cut where they are long."""
    heading: bool = False
    """Whether the first line is a heading."""
    shape: Shape = "box"
    style: str = ""
    """The name of one of the diagram's styles."""
    notes: tuple[tuple[str, str], ...] = ()
    """More of the label, each under its name, in a format that can't show a tip."""
    tip: str = ""
    """What is shown when the pointer rests on it."""


class Edge(Struct, frozen=True):
    source: str
    target: str
    label: str = ""
    line: Line = "plain"


class Group(Struct, frozen=True):
    """Nodes in a frame of their own."""

    title: str
    nodes: tuple[str, ...]


class Diagram(Struct, frozen=True):
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...] = ()
    styles: dict[str, str] = {}
    """CSS by name, for formats that know any."""


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
