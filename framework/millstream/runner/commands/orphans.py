"""Finds the checkpoints of queries that a project no longer has, and removes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from millstream.physical.lock import Lock
from millstream.project.folders import checkpoints_of, folder_in, own_folder
from millstream.runner.checkpoints.dead_letter_offsets import sources_in
from millstream.runner.checkpoints.environments import files_at
from millstream.runner.checkpoints.files import (
    checkpoint_folder,
    read_lock,
    records_in,
    write_lock,
)
from millstream.runner.spark.target_lock import checkpoints_lock, target_lock
from millstream.runner.values import Job
from millstream.stores.files import Files


class Orphan(Struct, frozen=True):
    path: str
    """A folder or file among the checkpoints."""
    query: str
    """Its query; empty for what is recorded of a source."""
    stored: tuple[str, ...]
    """Ids of the models, or of the source, that the project no longer has."""
    bytes: int


class Orphans:
    """The checkpoints of a target, while no other command uses them."""

    def __init__(self, job: Job, files: Files, checkpoints: str) -> None:
        self._files, self._checkpoints = files, checkpoints
        self.found = tuple(_found(job, files, checkpoints))

    def remove(self, orphans: Sequence[Orphan]) -> None:
        for each in orphans:
            self._files.remove(each.path)
        names = {each.query for each in orphans}
        lock = read_lock(self._files, self._checkpoints)
        if lock is not None:
            left = tuple(group for group in lock.groups if group.name not in names)
            write_lock(self._files, self._checkpoints, Lock(left))


@contextmanager
def orphans(job: Job) -> Iterator[Orphans]:
    target, root = job.project.target, Path(job.project.root)
    checkpoints = checkpoints_of(target, root)
    with (
        target_lock(folder_in(own_folder(root), target), target.title),
        files_at(target, checkpoints, own_folder(root)) as files,
        checkpoints_lock(checkpoints, files, target.title),
    ):
        yield Orphans(job, files, checkpoints)


def _found(job: Job, files: Files, checkpoints: str) -> Iterator[Orphan]:
    queries = {query.name for query in job.physical.queries}
    stored = {id_ for query in job.physical.queries for id_ in query.stored}
    for name, record in sorted(records_in(files, checkpoints).items()):
        # A model that has moved to another query still needs the older one, until that has been built.
        if name not in queries and stored.isdisjoint(record.stored):
            folder = checkpoint_folder(checkpoints, name).folder
            yield Orphan(folder, name, record.stored, files.size(folder))
    for source, path in sources_in(files, checkpoints):
        if source not in job.catalog.topics:
            yield Orphan(path, "", (source,), len(files.read(path) or b""))
