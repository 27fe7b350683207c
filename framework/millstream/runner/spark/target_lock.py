"""Allows one command for a target at a time, since two would write the same checkpoints and tables.

On this machine, the kernel holds the lock, both in the project's folder and next to the checkpoints, which
several copies of a project can share. The kernel releases the lock of a killed process. On other file
systems, the owner rewrites a file regularly. Another command watches whether the file changes, which works
without synchronized clocks.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from millstream.decoding import from_json
from millstream.errors import Diagnostic, MillstreamError
from millstream.machine.holders import Holder, holder_of, signed, this_process
from millstream.machine.locks import opened, try_lock, wait_for_lock
from millstream.project.folders import local_path
from millstream.runner.spark.query_locks import (
    BEAT,
    PATIENCE,
    LocalLocks,
    QueryLocks,
    RunSign,
    Signs,
    local_holder,
)
from millstream.stores.files import Files, path_in

_FILE = "running.json"
LOCK = "build.lock"


Waiting = Callable[[Holder | None], object]
"""Called before a wait, with the command that has the lock."""


class Sign(Struct, frozen=True):
    owner: str
    host: str
    process: int
    beat: int = 0
    command: str = ""
    since: datetime | None = None


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
    folder.mkdir(parents=True, exist_ok=True)
    with opened(folder / LOCK) as handle:
        if not try_lock(handle, shared=shared):
            holder = holder_of(folder / LOCK) or local_holder(folder)
            if waiting is None:
                raise in_use(f"target '{target}'", holder)
            waiting(holder)
            wait_for_lock(handle, shared=shared)
        with nullcontext() if shared else signed(handle):
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
    path = path_in(checkpoints, _FILE)
    holder = this_process()
    own = Sign(uuid.uuid4().hex, socket.gethostname(), os.getpid(), 0, holder.command, holder.since)
    _wait_for_owner(files, path, target, waiting)
    _write(files, path, own)
    try:
        _refuse_sharing_runs(files, checkpoints, target, waiting)
    except MillstreamError:
        files.remove(path)
        raise
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(files, path, own, ended), name="lock", daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        files.remove(path)


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
    path = path_in(checkpoints, _FILE)
    own = Signs(files, checkpoints, RunSign(uuid.uuid4().hex, socket.gethostname(), this_process()))
    with own.beating():
        _wait_for_owner(files, path, target, waiting)
        yield own


def _refuse_sharing_runs(files: Files, checkpoints: str, target: str, waiting: Waiting | None) -> None:
    """Refuse, or wait, while runs share the target, from another machine, too."""
    runs = Signs(files, checkpoints, RunSign("", socket.gethostname(), this_process()))
    while living := runs.living():
        first = living[0]
        if waiting is None:
            raise in_use(f"target '{target}'", first.holder, f"a run on {first.host}")
        waiting(first.holder)
        waiting = _silently


def _silently(_: Holder | None) -> None:
    """Wait without saying it again."""


def _wait_for_owner(files: Files, path: str, target: str, waiting: Waiting | None) -> None:
    """Refuse, or wait, while the file changes; otherwise its owner was killed."""
    while (owner := _living_owner(files, path)) is not None:
        holder = Holder(owner.command, owner.process, owner.since) if owner.since else None
        if waiting is None:
            raise in_use(f"target '{target}'", holder, f"process {owner.process} on {owner.host}")
        waiting(holder)
        while _living_owner(files, path) is not None:
            pass


def _living_owner(files: Files, path: str) -> Sign | None:
    before = files.read(path)
    if before is None:
        return None
    for _ in range(round(PATIENCE)):
        threading.Event().wait(1)
        if (now := files.read(path)) is None:
            return None
        if now != before:
            return from_json(now, Sign)
    return None


def _beat(files: Files, path: str, own: Sign, ended: threading.Event) -> None:
    beat = 0
    while not ended.wait(BEAT):
        beat += 1
        _write(files, path, msgspec.structs.replace(own, beat=beat))


def _write(files: Files, path: str, sign: Sign) -> None:
    files.write(path, msgspec.json.encode(sign))


def in_use(
    what: str, holder: Holder | None, by: str = "another command", option: str = "--wait"
) -> MillstreamError:
    """Return an error that names the command which uses something."""
    named = f"{holder} on {by.rpartition(' on ')[2]}" if holder and " on " in by else str(holder or by)
    remedy = f"stop it, wait until it ends, or use {option}"
    return MillstreamError(Diagnostic("MS874", f"{named} is using the {what}", None, remedy))
