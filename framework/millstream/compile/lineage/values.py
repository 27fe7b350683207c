"""The values of lineage."""

from __future__ import annotations

from msgspec import Struct

from millstream.core.node_id import NodeId

VALUE_KINDS = ("direct", "computed")
"""The kinds that pass values; the other kinds decide which rows exist, and their order."""


class LineageEnd(Struct, frozen=True, order=True):
    """A node, or one of its columns."""

    node: NodeId
    column: str = ""

    def __str__(self) -> str:
        return f"{self.node}.{self.column}" if self.column else str(self.node)


class LineageEdge(Struct, frozen=True, order=True):
    parent: LineageEnd
    child: LineageEnd
    kind: str = ""
    """How a column influences another column, or the rows of a node: direct, computed, filter, …"""


class Lineage(Struct, frozen=True):
    """The edges upstream and downstream of `root`; without a root, all edges as `downstream`."""

    root: LineageEnd | None = None
    upstream: tuple[LineageEdge, ...] = ()
    downstream: tuple[LineageEdge, ...] = ()
    single: tuple[LineageEnd, ...] = ()
    """In a graph without root, the nodes that have no edges."""

    @property
    def edges(self) -> tuple[LineageEdge, ...]:
        return tuple(dict.fromkeys((*self.upstream, *self.downstream)))

    @property
    def ends(self) -> tuple[LineageEnd, ...]:
        ends = [end for edge in self.edges for end in (edge.parent, edge.child)]
        return tuple(dict.fromkeys(([self.root] if self.root else []) + ends + list(self.single)))
