"""A target becomes what a project says: what can go on goes on, and all else is made anew beside what runs.

What an apply takes the place of is kept until the next one, so that it can be taken back.
"""

from __future__ import annotations

import uuid

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.deployment.stages import KeepPrevious
from millstream.physical.lock import Lock
from millstream.runner import previous
from millstream.runner.checkpoints import place_of, read_lock
from millstream.runner.deployed import set_manifest_aside
from millstream.runner.engine import Engine
from millstream.stores.files import Files

_FILE = "applied.json"


class Applied(Struct, frozen=True):
    """The last apply that made something anew: kept at the checkpoints of its target."""

    id: str
    lock: Lock
    """The groups before it."""
    replaced: tuple[str, ...]
    """Names of the queries that it made anew."""
    begun: tuple[str, ...] = ()
    """Names of those that did not run before."""
    done: bool = False
    back: bool = False
    """It is being taken back."""


def read(files: Files, folder: str) -> Applied | None:
    content = files.read(_path(folder))
    return None if content is None else msgspec.json.decode(content, type=Applied)


def write(files: Files, folder: str, applied: Applied) -> None:
    files.write(_path(folder), msgspec.json.format(msgspec.json.encode(applied), indent=1))


def remove(files: Files, folder: str) -> None:
    files.remove(_path(folder))


def _path(folder: str) -> str:
    return f"{folder.rstrip('/')}/{_FILE}"


def begin_apply(running: Engine, stage: KeepPrevious) -> Applied | None:
    """Note what an apply replaces; return one that was killed, if it has not come to its end."""
    if not stage.replaced:
        return None
    files, folder = running.files, running.checkpoints
    before = read(files, folder)
    if before is not None and not before.done:
        made = replace(
            before,
            replaced=tuple(sorted({*before.replaced, *stage.replaced})),
            begun=tuple(sorted({*before.begun, *stage.created})),
        )
    else:
        lock = read_lock(files, folder) or Lock()
        made = Applied(uuid.uuid4().hex[:12], lock, stage.replaced, stage.created)
        for name in files.names(folder):
            previous.forget(files, running.tables, place_of(folder, name))
        set_manifest_aside(files, folder)
    if made != before:
        write(files, folder, made)
    return made


def end_apply(running: Engine) -> None:
    """Note that an apply has come to its end: the next one is another one."""
    found = read(running.files, running.checkpoints)
    if found is not None and not found.done:
        write(running.files, running.checkpoints, replace(found, done=True))
