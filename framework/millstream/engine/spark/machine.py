"""What the processes of a run use: the JVM's heap and collections, and memory as the system counts it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession


def heap_bytes(spark: SparkSession) -> dict[str, int]:
    used = _management(spark).getMemoryMXBean().getHeapMemoryUsage()
    return {"used": used.getUsed(), "committed": used.getCommitted(), "max": used.getMax()}


def gc_collections(spark: SparkSession) -> dict[str, tuple[int, float]]:
    """Return how often each collector ran, and for how many seconds in total."""
    beans = _management(spark).getGarbageCollectorMXBeans()
    return {
        bean.getName(): (max(0, bean.getCollectionCount()), max(0, bean.getCollectionTime()) / 1000)
        for bean in (beans[index] for index in range(len(beans)))
    }


def _management(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm  # noqa: SLF001 -- there is no public API for the JVM
    return jvm.java.lang.management.ManagementFactory


def resident_bytes() -> dict[str, int]:
    """Return the resident memory of this process, its JVM and Spark's Python workers, on Linux."""
    sizes = {"python": _resident(os.getpid())}
    gateway: Any = SparkContext._gateway  # noqa: SLF001
    if getattr(gateway, "proc", None) is not None:  # otherwise spark-submit started the JVM
        java = gateway.proc.pid
        sizes["jvm"] = _resident(java)
        sizes["workers"] = sum(map(_resident, _descendants(java)))
    return {process: size for process, size in sizes.items() if size}


def _resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _descendants(process: int) -> Iterator[int]:
    for child in _children(process):
        yield child
        yield from _descendants(child)


def _children(process: int) -> list[int]:
    """Return the processes that a process has started; its threads, and itself, may end meanwhile."""
    children: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            with suppress(OSError):
                children += map(int, task.read_text(encoding="ascii").split())
    return children
