"""Allows one command for a target at a time, since two would write the same checkpoints and tables.

On this machine, the kernel holds the lock, both in the project's folder and next to the checkpoints, which
several copies of a project can share. The kernel releases the lock of a killed process. On other file
systems, the owner rewrites a file regularly. Another command watches whether the file changes, which works
without synchronized clocks.
"""

from __future__ import annotations

import socket
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.own_folder import make_folder
from millstream.engine.spark.jvm_process import kill_jvm
from millstream.engine.spark.query_locks import Heartbeat, Heartbeats, LocalLocks, QueryLocks, local_holder
from millstream.local.holders import LockHolder, hold_lock, holder_of, this_process
from millstream.local.locks import open_lock, try_lock, wait_for_lock
from millstream.project.folders import local_path
from millstream.stores.files import Files

LOCK = "build.lock"


Waiting = Callable[[LockHolder | None], object]
"""Called before a wait, with the command that has the lock."""


@contextmanager
def target_lock(
    folder: Path, target: str, waiting: Waiting | None = None, *, shared: bool = False
) -> Iterator[None]:
    """Hold the lock of a folder; with `waiting`, wait for the command that has it, and call it once.

    Runs that share a target hold it together.
    """
    if sys.platform == "win32":
        yield
        return
    make_folder(folder)
    with open_lock(folder / LOCK) as handle:
        if not try_lock(handle, shared=shared):
            holder = holder_of(folder / LOCK) or local_holder(folder)
            if waiting is None:
                raise in_use(f"target '{target}'", holder)
            waiting(holder)
            wait_for_lock(handle, shared=shared)
        with nullcontext() if shared else hold_lock(handle):
            yield


@contextmanager
def checkpoints_lock(
    checkpoints: str, files: Files, target: str, waiting: Waiting | None = None
) -> Iterator[None]:
    """Hold the lock of checkpoints, wherever they are."""
    folder = local_path(checkpoints)
    if folder is not None:
        with target_lock(folder, target, waiting):
            yield
        return
    with _signs(checkpoints, files, target, waiting) as signs:
        signs.take_target()
        yield


@contextmanager
def shared_lock(
    checkpoints: str, files: Files, target: str, waiting: Waiting | None = None
) -> Iterator[QueryLocks]:
    """Hold the lock of checkpoints together with other runs, and yield the locks of their queries."""
    folder = local_path(checkpoints)
    if folder is not None:
        with target_lock(folder, target, waiting, shared=True), ExitStack() as stack:
            yield LocalLocks(folder, stack)
        return
    with _signs(checkpoints, files, target, waiting) as signs:
        yield signs


@contextmanager
def _signs(checkpoints: str, files: Files, target: str, waiting: Waiting | None) -> Iterator[Heartbeats]:
    """Say next to checkpoints that this command is alive; without that, it may not go on."""
    sign = Heartbeat(uuid.uuid4().hex, socket.gethostname(), this_process())
    signs = Heartbeats(files, checkpoints, sign, _blocked(target, waiting))
    try:
        with signs.beating(kill_jvm):
            yield signs
    except Exception:
        if signs.lost:
            raise lost_locks() from None
        raise


def _blocked(target: str, waiting: Waiting | None) -> Callable[[Heartbeat], None]:
    """Return what refuses to wait for another command, or reports it once."""
    reported: list[str] = []

    def blocked(by: Heartbeat) -> None:
        if waiting is None:
            raise in_use(f"target '{target}'", by.holder, f"process {by.holder.process} on {by.host}")
        if by.owner not in reported:
            reported.append(by.owner)
            waiting(by.holder)

    return blocked


def lost_locks() -> MillstreamError:
    message = (
        "this command could not say for too long that it is alive, so that another one may use the target"
    )
    remedy = "start it again; if this is repeated, check the file system of the checkpoints"
    return MillstreamError(Diagnostic("MS674", message, None, remedy))


def in_use(
    what: str, holder: LockHolder | None, by: str = "another command", option: str = "--wait"
) -> MillstreamError:
    """Return an error that names the command which uses something."""
    named = f"{holder} on {by.rpartition(' on ')[2]}" if holder and " on " in by else str(holder or by)
    remedy = f"stop it, wait until it ends, or use {option}"
    return MillstreamError(Diagnostic("MS874", f"{named} is using the {what}", None, remedy))
