"""A wall clock that is set back: Spark waits for its next batch until a time of that clock has come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

NOTED = 1.0
"""Seconds that it must go back to be worth a word: less is what machines do to agree on the time."""


def spark_time(spark: SparkSession) -> float:
    """Return the time that Spark's own clock says, as seconds since 1970."""
    jvm: Any = spark._jvm  # noqa: SLF001
    return float(jvm.System.currentTimeMillis()) / 1000


class Clock:
    """Compares the wall clock with one that nobody sets."""

    def __init__(self, wall: Callable[[], float], steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._apart = wall() - steady()

    def went_back(self) -> float:
        """Return by how many seconds it was set back since it was asked last; 0: not worth a word."""
        before, self._apart = self._apart, self._wall() - self._steady()
        back = before - self._apart
        return back if back > NOTED else 0.0
