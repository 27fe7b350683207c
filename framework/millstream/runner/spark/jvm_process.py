"""The process of Spark's JVM, as far as this one has started it. Locks need it before there is any Spark."""

from __future__ import annotations

import os
from subprocess import Popen

_KILLED = 137
_processes: list[Popen[bytes]] = []
"""The JVM of this process, also before PySpark can use it."""


def is_submitted() -> bool:
    """Return whether spark-submit has started the JVM, and this process in it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def remember(process: Popen[bytes]) -> None:
    """Keep the process of the JVM, so that it can be killed."""
    _processes[:] = [process]


def end_jvm() -> None:
    """Kill the JVM, and wait until it has ended."""
    kill_jvm()
    for each in _processes:
        each.wait()


def kill_jvm() -> None:
    for each in _processes:
        each.kill()
    if is_submitted():
        os._exit(_KILLED)  # its JVM ends with it
