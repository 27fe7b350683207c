"""Splits queries: a query gets a copy of another's checkpoint. A split that has begun is completed first."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable

from msgspec import Struct

from millstream.deploy.checkpoints.files import checkpoint_folder, write_lock, write_record
from millstream.deploy.planning.query_splits import QuerySplit
from millstream.deploy.planning.records import Deployed, QueryRecord
from millstream.queries.lock import Lock
from millstream.stores.files import Files, path_in, read_json, write_json

_FILE = "split.json"


class _Begun(Struct, frozen=True):
    splits: tuple[QuerySplit, ...]
    records: dict[str, QueryRecord]
    """The records of all queries that change."""
    lock: Lock


def apply_splits(
    files: Files, checkpoints: str, old: Deployed, new: Deployed, splits: Iterable[QuerySplit]
) -> None:
    """Apply the splits to the checkpoints."""
    changed = {name: record for name, record in new.records.items() if old.records.get(name) != record}
    if changed or old.lock != new.lock:
        begun = _Begun(tuple(splits), changed, new.lock or Lock())
        write_json(files, path_in(checkpoints, _FILE), begun)
        settle_splits(files, checkpoints)


def has_begun(files: Files, checkpoints: str) -> bool:
    return files.read(path_in(checkpoints, _FILE)) is not None


def settle_splits(files: Files, checkpoints: str) -> None:
    """Complete splits that have begun; every step can be repeated."""
    begun = read_json(files, path_in(checkpoints, _FILE), _Begun)
    if begun is None:
        return
    for split in begun.splits:
        record = begun.records[split.name]
        old, new = checkpoint_folder(checkpoints, split.query), checkpoint_folder(checkpoints, split.name)
        files.remove(new.folder)
        files.copy(old.spark(record), new.spark(record))
        if files.read(f"{new.spark(record)}/metadata") is not None:
            # Spark runs only one query with an id at a time.
            files.write(f"{new.spark(record)}/metadata", json.dumps({"id": str(uuid.uuid4())}).encode())
    for name, record in begun.records.items():
        write_record(files, checkpoint_folder(checkpoints, name), record)
    write_lock(files, checkpoints, begun.lock)
    files.remove(path_in(checkpoints, _FILE))
