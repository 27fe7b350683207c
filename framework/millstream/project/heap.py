"""The heap of Spark's driver, which grows with the number of queries: Spark keeps the plans of each one."""

from __future__ import annotations

from millstream.core.byte_sizes import sparks_bytes_of
from millstream.project.spark_settings import spark_settings
from millstream.project.values import Target, is_local

HEAP = "spark.driver.memory"
_MIB = 2**20
_LEAST = 2048
_LEAST_WITH_EXECUTORS = 1024
_OF_A_QUERY = 64
"""Twice what the plans of a query of ten topics take."""


def heap_of(target: Target, queries: int, memory: int | None = None) -> int:
    """Return the heap of Spark's driver in MiB: that of the profile, or as much as the queries need.

    It takes at most half of the machine's `memory`, in bytes, but never less than a few queries need.
    """
    size = sparks_bytes_of(spark_settings(target).get(HEAP, ""))
    if size is not None:
        return size // _MIB
    least = _LEAST if is_local(target) else _LEAST_WITH_EXECUTORS
    needed = max(least, queries * _OF_A_QUERY)
    return needed if memory is None else max(least, min(needed, memory // _MIB // 2))
