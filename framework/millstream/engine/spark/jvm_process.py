"""The process of Spark's JVM, as far as this one has started it. Locks need it before there is any Spark."""

from __future__ import annotations

import os
from typing import Protocol

_KILLED = 137


class SparkProcess(Protocol):
    """A JVM that this process has started, or borrowed from a warm session."""

    def kill(self) -> None: ...


_processes: list[SparkProcess] = []
"""The JVM of this process, also before PySpark can use it."""


def is_submitted() -> bool:
    """Return whether spark-submit has started the JVM, and this process in it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def remember_process(process: SparkProcess) -> None:
    """Keep the process of the JVM, so that it can be killed."""
    _processes[:] = [process]


_ended: list[SparkProcess] = []


def end_jvm() -> None:
    """Kill the JVM of a command that ends without it."""
    _ended[:] = _processes
    kill_jvm()


def is_ended() -> bool:
    """Return whether this command has killed its JVM to end in time."""
    return bool(_processes) and _ended == _processes


def kill_jvm() -> None:
    for process in _processes:
        process.kill()
    if is_submitted():
        os._exit(_KILLED)  # its JVM ends with it
