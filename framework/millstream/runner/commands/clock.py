"""Detects a wall clock that was set back: Spark waits with its next batch until a time of that clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

REPORTED = 1.0
"""Seconds that it must go back to be reported: time synchronization changes it by less."""


def spark_time(spark: SparkSession) -> float:
    """Return the time of the JVM's clock, as seconds since 1970."""
    jvm: Any = spark._jvm  # noqa: SLF001
    return float(jvm.System.currentTimeMillis()) / 1000


class Clock:
    """Compares the wall clock with a monotonic clock."""

    def __init__(self, wall: Callable[[], float], steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._difference = wall() - steady()

    def went_back(self) -> float:
        """Return how many seconds it was set back since the last call, or 0 if too little to report."""
        before, self._difference = self._difference, self._wall() - self._steady()
        back = before - self._difference
        return back if back > REPORTED else 0.0
