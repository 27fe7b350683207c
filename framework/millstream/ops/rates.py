"""How many rows per second were counted a short time ago."""

from __future__ import annotations

from collections import deque

from millstream.core.node_id import NodeId

_RECENT = 30.0
"""Seconds over which rows per second are an average."""


class RecentRates:
    """Remembers recent totals of nodes."""

    def __init__(self) -> None:
        self._totals: dict[NodeId, deque[tuple[float, int]]] = {}

    def of(self, node: NodeId, total: int, now: float) -> float:
        """Note a total, and return how many came per second."""
        noted = self._totals.setdefault(node, deque())
        noted.append((now, total))
        while now - noted[0][0] > _RECENT:
            noted.popleft()
        since, before = noted[0]
        return (total - before) / (now - since) if now - since > 1 else 0.0
