"""What lineage consists of."""

from __future__ import annotations

from msgspec import Struct

VALUE_KINDS = ("direct", "computed")
"""How a value comes from another; the other kinds decide which rows there are, and in what order."""


class End(Struct, frozen=True, order=True):
    """A node, or one column of it."""

    node: str
    column: str = ""

    def __str__(self) -> str:
        return f"{self.node}.{self.column}" if self.column else self.node


class Edge(Struct, frozen=True, order=True):
    parent: End
    child: End
    kind: str = ""
    """How a column influences another, or with a child that is a whole node, its rows: direct, filter, …"""


class Lineage(Struct, frozen=True):
    """The edges above and below what was asked for; without it, the whole graph as `downstream`."""

    root: End | None = None
    upstream: tuple[Edge, ...] = ()
    downstream: tuple[Edge, ...] = ()
    single: tuple[End, ...] = ()
    """Nodes of the whole graph that have no neighbour."""

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(dict.fromkeys((*self.upstream, *self.downstream)))

    @property
    def ends(self) -> tuple[End, ...]:
        found = [end for edge in self.edges for end in (edge.parent, edge.child)]
        return tuple(dict.fromkeys(([self.root] if self.root else []) + found + list(self.single)))
