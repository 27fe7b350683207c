"""The thresholds of a target: when a run of it is healthy."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from millstream.plan.durations import duration_millis
from millstream.project.values import Target

TEST_EVERY = "10 minutes"


class Thresholds(Struct, frozen=True):
    max_lag: int | None = None
    max_staleness: float | None = None
    """In seconds."""


def thresholds_of(target: Target) -> Thresholds:
    health: dict[str, Any] = target.settings.get("health") or {}
    stale = health.get("max_staleness")
    return Thresholds(health.get("max_lag"), duration_millis(stale) / 1000 if stale else None)


def interval_of_tests(target: Target) -> float | None:
    """Return the seconds between two runs of data tests that need more than a row; None for never."""
    interval = (target.settings.get("health") or {}).get("test_every") or TEST_EVERY
    return None if interval == "never" else duration_millis(interval) / 1000
