"""The note of the last apply, at the checkpoints of its target."""

from __future__ import annotations

from msgspec import Struct

from millstream.queries.lock import Lock
from millstream.stores.files import Files, path_in, read_json, write_json

_FILE = "applied.json"


class LastApply(Struct, frozen=True):
    """The last apply that rebuilt something, stored at the checkpoints of its target."""

    id: str
    lock: Lock
    """The groups before the apply."""
    replaced: tuple[str, ...]
    """Names of the queries that it rebuilt."""
    begun: tuple[str, ...] = ()
    """Names of the queries that did not run before."""
    done: bool = False
    back: bool = False
    """Whether its rollback has begun."""


def read_apply(files: Files, folder: str) -> LastApply | None:
    return read_json(files, path_in(folder, _FILE), LastApply)


def write_apply(files: Files, folder: str, applied: LastApply) -> None:
    write_json(files, path_in(folder, _FILE), applied)


def remove_apply(files: Files, folder: str) -> None:
    files.remove(path_in(folder, _FILE))
