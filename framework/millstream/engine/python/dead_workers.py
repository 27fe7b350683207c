"""Finds out which function a Python worker was in when it died, on this machine."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Container
from pathlib import Path

from msgspec.structs import replace

from millstream.core.errors import Diagnostic
from millstream.engine.python.worker import CALLS

WORKER_DIED = "a Python worker died"


def in_function(diagnostic: Diagnostic, functions: Container[str]) -> Diagnostic:
    """Say of a worker's death in which of a query's functions it was."""
    if not diagnostic.message.endswith(WORKER_DIED):
        return diagnostic
    names = " or ".join(f"{name}()" for name in functions_of_dead_workers(functions))
    who = diagnostic.message.removesuffix(WORKER_DIED)
    return replace(diagnostic, message=f"{who}the Python worker died in {names}") if names else diagnostic


def functions_of_dead_workers(functions: Container[str]) -> tuple[str, ...]:
    """Return those of some functions that dead workers of this process were in, and forget them."""
    names: set[str] = set()
    for file in Path(tempfile.gettempdir()).glob(f"{CALLS}*-*"):
        with contextlib.suppress(OSError, ValueError):
            driver, worker = map(int, file.name.removeprefix(CALLS).split("-"))
            if driver == os.getpid() and not _is_alive(worker):
                if (name := file.read_text(encoding="utf-8")) in functions:
                    names.add(name)
                    file.unlink()
            elif not _is_alive(driver):
                file.unlink()
    return tuple(sorted(names))


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
