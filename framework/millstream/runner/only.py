"""One command of a target at a time: two would share checkpoints and tables.

On this machine the kernel keeps the lock, in the project's folder and beside checkpoints, which several
copies of a project can share; it drops that of a process that was killed. Where only Spark's file system
reaches, a file is written again and again as long as its owner lives: who finds it watches whether it
changes, and needs no clock that two machines agree on.
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

from millstream.errors import Diagnostic, MillstreamError
from millstream.machine.locks import opened, try_lock
from millstream.stores.files import Files, local_path

BEAT = 5.0
"""Seconds between two signs of life."""
PATIENCE = 3 * BEAT
_FILE = "running.json"


class Sign(Struct, frozen=True):
    owner: str
    host: str
    process: int
    beat: int = 0


@contextmanager
def alone(folder: Path, target: str) -> Iterator[None]:
    """Hold the lock of a folder."""
    if sys.platform == "win32":
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with opened(folder / "build.lock") as handle:
        if not try_lock(handle):
            raise _taken(f"another command works with the target '{target}'")
        yield


@contextmanager
def alone_at(checkpoints: str, files: Files, target: str) -> Iterator[None]:
    """Hold the lock of checkpoints, wherever they are."""
    path = local_path(checkpoints)
    if path is not None:
        with alone(path, target):
            yield
        return
    place = f"{checkpoints.rstrip('/')}/{_FILE}"
    own = Sign(uuid.uuid4().hex, socket.gethostname(), os.getpid())
    _wait_for_life(files, place, target)
    _write(files, place, own)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(files, place, own, ended), name="lock", daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        files.remove(place)


def _wait_for_life(files: Files, place: str, target: str) -> None:
    """Refuse where the file changes; where it does not, its owner was killed."""
    before = files.read(place)
    if before is None:
        return
    for _ in range(round(PATIENCE)):
        threading.Event().wait(1)
        if (now := files.read(place)) is None:
            return
        if now != before:
            sign = msgspec.json.decode(now, type=Sign)
            message = f"process {sign.process} on {sign.host} works with the target '{target}'"
            raise _taken(message)


def _beat(files: Files, place: str, own: Sign, ended: threading.Event) -> None:
    beat = 0
    while not ended.wait(BEAT):
        beat += 1
        _write(files, place, msgspec.structs.replace(own, beat=beat))


def _write(files: Files, place: str, sign: Sign) -> None:
    files.write(place, msgspec.json.encode(sign))


def _taken(message: str) -> MillstreamError:
    return MillstreamError(Diagnostic("MS874", message, None, "wait until it has ended"))
