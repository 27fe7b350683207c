"""Whether a run is healthy, by the thresholds of its target."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import astuple

from millstream.ops.query_status import QueryStatus
from millstream.project.values import Target
from millstream.results.thresholds import Thresholds, thresholds_of


class Health(Thresholds, frozen=True):
    """Judges queries by the thresholds."""

    def not_live(self, seen: QueryStatus) -> list[str]:
        """Return why restarting the process could help a query.

        A lag is no reason: after a restart, a query has as much to read. Nor is a query that fails, which the
        run restarts already, or one that waits for the tables that it reads.
        """
        if seen.status == "stopped":
            return ["it has stopped"]
        return [] if seen.status in {"failed", "waiting"} else list(self._stale(seen))

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
    return Health(*astuple(thresholds_of(target)))
