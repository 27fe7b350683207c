"""Locks of the kernel on files: they end with the process that holds them, however it ends.

`flock` belongs to an open file, not to a process: a child that inherits the file holds the lock on. That is
how the broker's process holds one from its first moment without knowing of it (`fcntl.lockf` can't do that).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.errors import Diagnostic, MillstreamError

if sys.platform != "win32":
    import fcntl

_POLL = 0.02


def check_system() -> None:
    if sys.platform == "win32":
        remedy = "work in WSL, or name a Kafka in profiles.yml: `kafka: {bootstrap_servers: …}`"
        raise MillstreamError(Diagnostic("MS813", "the local broker needs Linux or macOS", None, remedy))


@contextmanager
def opened(file: Path) -> Iterator[int]:
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


def lock(handle: int, seconds: float, *, shared: bool = False) -> bool:
    """Wait for a lock; tell if it was had in time."""
    deadline = time.monotonic() + seconds
    while not try_lock(handle, shared=shared):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


@contextmanager
def locked(file: Path, seconds: float) -> Iterator[None]:
    with opened(file) as handle:
        if not lock(handle, seconds):
            remedy = "wait for that command, or end it"
            message = f"another command holds {file} for more than {seconds:.0f} seconds"
            raise MillstreamError(Diagnostic("MS815", message, None, remedy))
        yield


def is_locked(file: Path) -> bool:
    """Tell if somebody holds the file's lock alone; asking disturbs nobody else who asks."""
    try:
        handle = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(handle, shared=True)
    finally:
        os.close(handle)
