"""The values of a layout: its input and its result. Nodes are numbers, in the given order."""

from __future__ import annotations

from msgspec import Struct

Edge = tuple[int, int]
"""From a node to a node that reads it."""


class LayoutItem(Struct, frozen=True):
    width: int
    height: int
    cluster: str = ""
    """Nodes of a cluster are inside one box, which contains no other nodes."""
    near: str = ""
    """The cluster that a node without a cluster is placed next to."""


class LayoutColumn(Struct, frozen=True, array_like=True):
    """All nodes of one rank; an edge runs straight through a column, and bends between columns."""

    x: int
    width: int


class Box(Struct, frozen=True):
    rank: int
    y: int
    """Of the upper edge."""
    height: int


class Route(Struct, frozen=True, array_like=True):
    source: int
    target: int
    ys: tuple[int, ...] = ()
    """Its y in each of the columns that it crosses."""


class ClusterBox(Struct, frozen=True, array_like=True):
    name: str
    x: int
    y: int
    width: int
    height: int


class Layout(Struct, frozen=True):
    columns: tuple[LayoutColumn, ...]
    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    clusters: tuple[ClusterBox, ...]
    width: int
    height: int
