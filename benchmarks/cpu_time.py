"""The CPU that commands, and this process with its Spark, take."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2): orphans of what this process started become its children."""


def adopt_orphans() -> None:
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def cpu_of(command: Sequence[str | Path], folder: Path, name: str) -> float:
    """Run a command to its end; return the CPU seconds, user and system, of its process and of all that it started.

    Servers that were started before do not count.
    """
    others, before = _children(), _ended()
    with (folder / "log").open("ab") as log:
        done = subprocess.run(command, cwd=folder, stdout=log, stderr=log, check=False)
    if done.returncode:
        sys.exit(f"{name}: exit code {done.returncode}\n{(folder / 'log').read_text()[-4000:]}")
    while more := _children() - others:
        for process in more:
            os.waitpid(process, 0)
    return _ended() - before


def spent(spark: Any) -> float:
    """Return the CPU seconds, user and system, of this process and of the JVM of its Spark."""
    pid = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # noqa: SLF001
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + usage.ru_utime + usage.ru_stime


def _ended() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _children() -> set[int]:
    tasks = Path("/proc/self/task").iterdir()
    return {int(child) for task in tasks for child in (task / "children").read_text().split()}
