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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from millstream.decoding import from_json
from millstream.errors import Diagnostic, MillstreamError
from millstream.machine.locks import opened, try_lock
from millstream.stores.files import Files, local_path, path_in

BEAT = 5.0
"""Seconds between two signs of life."""
PATIENCE = 3 * BEAT
_FILE = "running.json"
LOCK = "build.lock"


class Sign(Struct, frozen=True):
    owner: str
    host: str
    process: int
    beat: int = 0


@contextmanager
def target_lock(folder: Path, target: str) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with opened(folder / LOCK) as handle:
        if not try_lock(handle):
            raise _in_use(f"another command is using the target '{target}'")
        yield


@contextmanager
def checkpoints_lock(checkpoints: str, files: Files, target: str) -> Iterator[None]:
    """Hold the lock of checkpoints, wherever they are."""
    folder = local_path(checkpoints)
    if folder is not None:
        with target_lock(folder, target):
            yield
        return
    path = path_in(checkpoints, _FILE)
    own = Sign(uuid.uuid4().hex, socket.gethostname(), os.getpid())
    _check_owner(files, path, target)
    _write(files, path, own)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(files, path, own, ended), name="lock", daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        files.remove(path)


def _check_owner(files: Files, path: str, target: str) -> None:
    """Refuse if the file changes; otherwise its owner was killed."""
    before = files.read(path)
    if before is None:
        return
    for _ in range(round(PATIENCE)):
        threading.Event().wait(1)
        if (now := files.read(path)) is None:
            return
        if now != before:
            sign = from_json(now, Sign)
            raise _in_use(f"process {sign.process} on {sign.host} is using the target '{target}'")


def _beat(files: Files, path: str, own: Sign, ended: threading.Event) -> None:
    beat = 0
    while not ended.wait(BEAT):
        beat += 1
        _write(files, path, msgspec.structs.replace(own, beat=beat))


def _write(files: Files, path: str, sign: Sign) -> None:
    files.write(path, msgspec.json.encode(sign))


def _in_use(message: str) -> MillstreamError:
    return MillstreamError(Diagnostic("MS874", message, None, "wait until it ends"))
