"""Kernel locks on files, which end with the process that holds them, even if it is killed.

`flock` belongs to an open file, not to a process: a child that inherits the file keeps the lock. So the
broker's process holds a lock from its start, without any code of its own (`fcntl.lockf` can't do that).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.core.errors import Diagnostic, MillstreamError

if sys.platform != "win32":
    import fcntl

_POLL = 0.02


def check_system() -> None:
    if sys.platform == "win32":
        remedy = "use WSL, or configure a Kafka cluster in profiles.yml: `kafka: {bootstrap_servers: …}`"
        raise MillstreamError(Diagnostic("MS813", "the local broker needs Linux or macOS", None, remedy))


@contextmanager
def open_lock(file: Path) -> Iterator[int]:
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield handle
    finally:
        os.close(handle)


def try_lock(handle: int, *, shared: bool = False) -> bool:
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(handle: int, *, shared: bool = False) -> None:
    """Wait for a lock as long as it takes; a signal still interrupts it."""
    fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def acquire_lock(handle: int, seconds: float, *, shared: bool = False) -> bool:
    """Wait for a lock; return whether it was acquired in time."""
    deadline = time.monotonic() + seconds
    while not try_lock(handle, shared=shared):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


@contextmanager
def lock_file(file: Path, seconds: float) -> Iterator[None]:
    with open_lock(file) as handle:
        if not acquire_lock(handle, seconds):
            remedy = "wait for that command to end, or stop it"
            message = f"another command has locked {file} for more than {seconds:.0f} seconds"
            raise MillstreamError(Diagnostic("MS815", message, None, remedy))
        yield


def is_locked(file: Path, *, shared: bool = False) -> bool:
    """Whether a process holds the file's exclusive lock; concurrent checks don't disturb each other.

    With `shared`, whether a process holds any lock of it; this may disturb one that is about to lock it.
    """
    try:
        handle = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(handle, shared=not shared)
    finally:
        os.close(handle)
