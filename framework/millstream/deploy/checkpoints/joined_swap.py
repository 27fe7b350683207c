"""Swaps of several queries that happen together, stored next to the checkpoints once they have begun."""

from __future__ import annotations

from msgspec import Struct

from millstream.core.encoding import to_json
from millstream.queries.lock import Lock
from millstream.stores.files import Files, path_in, read_json

_FILE = "regroup.json"


class JoinedSwap(Struct, frozen=True):
    """Swaps of several queries that happen together."""

    queries: tuple[str, ...]
    lock: Lock
    """The groups after the swap; queries of other groups are removed, unless they `stay`."""
    back: bool = False
    """Whether this is a rollback to the previous versions."""
    stay: bool = False


def has_begun(files: Files, folder: str) -> bool:
    return files.read(path_in(folder, _FILE)) is not None


def read_joined(files: Files, folder: str) -> JoinedSwap | None:
    return read_json(files, path_in(folder, _FILE), JoinedSwap)


def write_joined(files: Files, folder: str, joined: JoinedSwap) -> None:
    files.write(path_in(folder, _FILE), to_json(joined))


def remove_joined(files: Files, folder: str) -> None:
    files.remove(path_in(folder, _FILE))
