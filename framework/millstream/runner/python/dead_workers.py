"""Finds out which function a Python worker was in when it died, on this machine."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from millstream.runner.python.worker import CALLS


def functions_of_dead_workers() -> tuple[str, ...]:
    """Return the functions that dead workers were in, and forget them."""
    found: set[str] = set()
    for file in Path(tempfile.gettempdir()).glob(f"{CALLS}*"):
        with contextlib.suppress(OSError, ValueError):
            if not _is_alive(int(file.name.removeprefix(CALLS))):
                found.add(file.read_text(encoding="utf-8"))
                file.unlink()
    return tuple(sorted(found))


def _is_alive(process: int) -> bool:
    with contextlib.suppress(OSError):
        # A process that has ended, and whose parent has not asked for its result yet.
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
