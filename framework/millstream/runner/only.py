"""One build of a target at a time: two would share checkpoints."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.errors import Diagnostic, MillstreamError
from millstream.machine.locks import opened, try_lock


@contextmanager
def alone(folder: Path, target: str) -> Iterator[None]:
    """Hold the lock of a target; the kernel drops that of a process that was killed."""
    if sys.platform == "win32":
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with opened(folder / "build.lock") as handle:
        if not try_lock(handle):
            message = f"another command works with the target '{target}'"
            raise MillstreamError(Diagnostic("MS874", message, None, "wait until it has ended"))
        yield
