"""What is known of a query that ran before, so that no edit goes on from what no longer fits."""

from __future__ import annotations

import uuid
from datetime import datetime, timezone

import msgspec
from msgspec import Struct

from millstream.physical.lock import Lock, decode, encode
from millstream.physical.values import Query, Signature
from millstream.plan.nodes import Column
from millstream.runner.files import Files, LocalFiles, local_path

FORMAT = 1
FILE = "millstream.json"
LOCK = "groups.lock"


class Record(Struct, frozen=True):
    """Written beside a checkpoint before the query starts for the first time."""

    project: str
    query: str
    id: str
    """Of the checkpoint: numbers of batches mean something within one only."""
    signature: Signature
    models: tuple[str, ...] = ()
    tables: dict[str, tuple[Column, ...]] = {}
    """The columns of the tables that it writes, as they were last made."""
    made: str = ""
    format: int = FORMAT


class Place(Struct, frozen=True):
    """The folder of one query's checkpoint."""

    folder: str

    @property
    def spark(self) -> str:
        return f"{self.folder}/spark"

    @property
    def record(self) -> str:
        return f"{self.folder}/{FILE}"


def place_of(checkpoints: str, query: str) -> Place:
    return Place(f"{checkpoints.rstrip('/')}/{query}")


def read_record(files: Files, place: Place) -> Record | None:
    content = files.read(place.record)
    return None if content is None else msgspec.json.decode(content, type=Record)


def write_record(files: Files, place: Place, record: Record) -> None:
    files.write(place.record, msgspec.json.format(msgspec.json.encode(record), indent=1))


def new_record(project: str, query: Query, tables: dict[str, tuple[Column, ...]], id_: str = "") -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Record(
        project, query.name, id_ or uuid.uuid4().hex[:12], query.signature, query.models, tables, now
    )


def local_lock(checkpoints: str) -> Lock | None:
    """Return the groups that have state, where checkpoints are on this machine.

    Elsewhere nobody can look before Spark is there: groups are then made anew, and one whose models changed
    is refused for its signature.
    """
    return read_lock(LocalFiles(), checkpoints) if local_path(checkpoints) is not None else None


def read_lock(files: Files, checkpoints: str) -> Lock | None:
    content = files.read(f"{checkpoints.rstrip('/')}/{LOCK}")
    return None if content is None else decode(content)


def write_lock(files: Files, checkpoints: str, lock: Lock) -> None:
    files.write(f"{checkpoints.rstrip('/')}/{LOCK}", encode(lock))
