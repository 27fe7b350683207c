"""A plan: the outputs of a project over shared nodes."""

from __future__ import annotations

from msgspec import Struct

from millstream.core.cached_property import once
from millstream.core.node_id import NodeId
from millstream.plan.nodes.base import Node
from millstream.plan.nodes.leaves import TableScan
from millstream.plan.nodes.order import in_order
from millstream.plan.nodes.stateless import Output


class Plan(Struct, frozen=True, dict=True):
    outputs: tuple[Output, ...]

    @once
    def order(self) -> tuple[Node, ...]:
        """All nodes, each once and after its inputs."""
        return tuple(in_order(self.outputs))

    @once
    def tables(self) -> tuple[NodeId, ...]:
        """The relations that are read at rest, or row by row as their tables change."""
        read: dict[NodeId, None] = {}
        for node in self.order:
            if isinstance(node, TableScan):
                read[node.relation] = None
            read |= dict.fromkeys(
                relation for expression in node.expressions for relation in expression.reads
            )
        return tuple(read)
