"""Detects a wall clock that was set back: Spark waits with its next batch until a time of that clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

REPORTED = 5.0
"""Seconds that it must go back to be reported: starting queries again takes longer than to wait for less."""


def spark_time(spark: SparkSession) -> float:
    """Return the time of the JVM's clock, as seconds since 1970."""
    jvm: Any = spark._jvm  # noqa: SLF001
    return float(jvm.System.currentTimeMillis()) / 1000


class Clock:
    """Compares the wall clock with a monotonic clock.

    Reading the wall clock takes long on a busy machine, so their difference is only known within bounds.
    """

    def __init__(self, wall: Callable[[], float], steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._least, _ = self._difference()

    def went_back(self) -> float:
        """Return how many seconds it was set back since the last call; 0 if too few to report."""
        least, most = self._difference()
        back = self._least - most
        # A reading that took long would hide a step that comes later.
        if back > REPORTED or most - least < REPORTED / 2:
            self._least = least
        return back if back > REPORTED else 0.0

    def _difference(self) -> tuple[float, float]:
        before = self._steady()
        wall = self._wall()
        return wall - self._steady(), wall - before
