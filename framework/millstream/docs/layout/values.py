"""A graph to be laid out, and the layout; nodes are numbers, in the order in which they were given."""

from __future__ import annotations

from msgspec import Struct

Edge = tuple[int, int]
"""From a node to one that reads it."""


class Item(Struct, frozen=True):
    width: int
    height: int
    cluster: str = ""
    """Nodes of one cluster stand within one box, and no other node does."""
    near: str = ""
    """The cluster that a node without one stands beside."""


class Column(Struct, frozen=True):
    """All nodes of one rank; an edge runs straight through a column, and bends between columns."""

    x: int
    width: int


class Box(Struct, frozen=True):
    rank: int
    y: int
    """Of the upper edge."""
    height: int


class Route(Struct, frozen=True):
    source: int
    target: int
    ys: tuple[int, ...] = ()
    """Where it runs through each of the columns between."""


class ClusterBox(Struct, frozen=True):
    name: str
    x: int
    y: int
    width: int
    height: int


class Layout(Struct, frozen=True):
    columns: tuple[Column, ...]
    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    clusters: tuple[ClusterBox, ...]
    width: int
    height: int
