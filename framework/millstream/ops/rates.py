"""How many rows per second were counted a short time ago."""

from __future__ import annotations

from collections import deque

_RECENT = 30.0
"""Seconds over which rows per second are an average."""


class RecentRates:
    """Remembers recent totals by name."""

    def __init__(self) -> None:
        self._totals: dict[str, deque[tuple[float, int]]] = {}

    def of(self, name: str, total: int, now: float) -> float:
        """Note a total, and return how many came per second."""
        noted = self._totals.setdefault(name, deque())
        noted.append((now, total))
        while now - noted[0][0] > _RECENT:
            noted.popleft()
        since, before = noted[0]
        return (total - before) / (now - since) if now - since > 1 else 0.0
