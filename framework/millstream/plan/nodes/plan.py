"""A plan: the outputs of a project over shared nodes."""

from __future__ import annotations

from msgspec import Struct

from millstream.once import once
from millstream.plan.nodes.base import Node
from millstream.plan.nodes.order import in_order
from millstream.plan.nodes.stateless import Output


class Plan(Struct, frozen=True, dict=True):
    """All outputs of a project over shared nodes."""

    outputs: tuple[Output, ...]

    @once
    def order(self) -> tuple[Node, ...]:
        """All nodes, each once and after its inputs."""
        return tuple(in_order(self.outputs))
