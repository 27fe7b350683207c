"""A target becomes what a project says: what can go on goes on, and all else is made anew beside what runs.

What an apply takes the place of is kept until the next one, so that it can be taken back.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.physical.lock import Lock
from millstream.physical.resent import with_readers
from millstream.physical.values import Query
from millstream.physical.verdict import is_lost, verdict
from millstream.runner import previous
from millstream.runner.checkpoints import Record, place_of, read_lock, records_in, taken_over
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


class Anew(Struct, frozen=True):
    """Queries that are made anew, by name."""

    queries: dict[str, Query]
    apply: str = ""
    """The apply that does it, and keeps what they take the place of."""


def read(files: Files, folder: str) -> Applied | None:
    content = files.read(_path(folder))
    return None if content is None else msgspec.json.decode(content, type=Applied)


def write(files: Files, folder: str, applied: Applied) -> None:
    files.write(_path(folder), msgspec.json.format(msgspec.json.encode(applied), indent=1))


def remove(files: Files, folder: str) -> None:
    files.remove(_path(folder))


def _path(folder: str) -> str:
    return f"{folder.rstrip('/')}/{_FILE}"


def to_apply(running: Engine, queries: Sequence[Query]) -> Anew:
    """Return the queries that can't go on as they are, noted for the way back."""
    known = records_in(running.files, running.checkpoints)
    unfit = [query for query in queries if _unfit(running, query, known) or taken_over(query, known)]
    anew = {query.name: query for query in unfit}
    anew |= {name: query for name, (query, _) in with_readers(unfit, queries).items()}
    if not anew:
        return Anew({})
    return Anew(anew, _noted(running, anew, {q.name for q in queries} - known.keys() - anew.keys()))


def end_apply(running: Engine) -> None:
    """Note that an apply has come to its end: the next one is another one."""
    found = read(running.files, running.checkpoints)
    if found is not None and not found.done:
        write(running.files, running.checkpoints, replace(found, done=True))


def _unfit(running: Engine, query: Query, known: Mapping[str, Record]) -> bool:
    if query.name not in known:
        return False
    kind = verdict(known[query.name].signature, query.signature).kind
    return is_lost(kind, accept_forward=running.job.accept_forward)


def _noted(running: Engine, anew: Iterable[str], new: Iterable[str]) -> str:
    """Note what is to be made anew, and return the id of the apply: of one that was killed, its own."""
    files, folder = running.files, running.checkpoints
    before = read(files, folder)
    if before is not None and not before.done:
        made = replace(
            before,
            replaced=tuple(sorted({*before.replaced, *anew})),
            begun=tuple(sorted({*before.begun, *new})),
        )
    else:
        lock = read_lock(files, folder) or Lock()
        made = Applied(uuid.uuid4().hex[:12], lock, tuple(sorted(anew)), tuple(sorted(new)))
        for name in files.names(folder):
            previous.forget(files, running.tables, place_of(folder, name))
        set_manifest_aside(files, folder)
    if made != before:
        write(files, folder, made)
    return made.id
