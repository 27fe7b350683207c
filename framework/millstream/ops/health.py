"""Whether a run is healthy, by the thresholds of its target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from millstream.ops.seen import QueryStatus
from millstream.physical.durations import milliseconds
from millstream.project.values import Target


class Health(Struct, frozen=True):
    max_lag: int | None = None
    max_staleness: float | None = None
    """In seconds."""

    def not_live(self, seen: QueryStatus) -> list[str]:
        """Return why restarting the process could help a query.

        A lag is no reason: after a restart, a query has as much to read. Nor is a query that fails: the run
        restarts it already.
        """
        if seen.status == "stopped":
            return ["it has stopped"]
        return [] if seen.status == "failed" else list(self._stale(seen))

    def not_ready(self, seen: QueryStatus) -> list[str]:
        """Return why the results of a query should not be relied on now."""
        reasons = []
        if seen.status != "running":
            reasons.append(f"it is {seen.status}")
        elif not seen.caught_up:
            reasons.append("it has not caught up since the start")
        reasons += [f"{model} is left out" for model in seen.left_out]
        behind = sum(seen.lag.values())
        if self.max_lag is not None and behind > self.max_lag:
            reasons.append(f"its lag of {behind:,} records is above max_lag, {self.max_lag:,}")
        return reasons + list(self._stale(seen))

    def _stale(self, seen: QueryStatus) -> Iterator[str]:
        if self.max_staleness is not None and seen.stale > self.max_staleness:
            yield f"it has ended no batch for {seen.stale:,.0f} s: max_staleness is {self.max_staleness:g} s"


def health_of(target: Target) -> Health:
    given: dict[str, Any] = target.settings.get("health") or {}
    stale = given.get("max_staleness")
    return Health(given.get("max_lag"), milliseconds(stale) / 1000 if stale else None)


TEST_EVERY = "10 minutes"


def interval_of_tests(target: Target) -> float | None:
    """Return the seconds between two runs of data tests that need more than a row; None for never."""
    given = (target.settings.get("health") or {}).get("test_every") or TEST_EVERY
    return None if given == "never" else milliseconds(given) / 1000
