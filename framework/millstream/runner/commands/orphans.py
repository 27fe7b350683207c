"""Finds the checkpoints and consumer groups of queries that a project no longer has, and removes them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.dead_letter_offsets import sources_in
from millstream.deploy.checkpoints.environments import files_at
from millstream.deploy.checkpoints.files import (
    checkpoint_folder,
    read_lock,
    records_in,
    write_lock,
)
from millstream.deploy.values import Job
from millstream.engine.spark.target_lock import checkpoints_lock, target_lock
from millstream.kafka.clients import Admin
from millstream.kafka.cluster import is_embedded
from millstream.kafka.connection import connect_kafka
from millstream.kafka.environment_removal import groups_with, remove_groups
from millstream.kafka.groups import group_of
from millstream.local.jars import Progress
from millstream.project.folders import broker_folder, checkpoints_of, folder_in, own_folder
from millstream.project.values import Project
from millstream.queries.lock import Lock
from millstream.stores.files import Files


class Orphan(Struct, frozen=True):
    path: str
    """A folder or file among the checkpoints."""
    query: str
    """Its query; empty for what is recorded of a source."""
    stored: tuple[NodeId, ...]
    """Ids of the models, or of the source, that the project no longer has."""
    bytes: int


class Orphans:
    """What a target has of them, while no other command uses its checkpoints."""

    def __init__(self, job: Job, files: Files, checkpoints: str, admin: Admin | None) -> None:
        self._files, self._checkpoints, self._admin = files, checkpoints, admin
        self.checkpoints = tuple(_orphans(job, files, checkpoints))
        used = {query.name for query in job.physical.queries} | records_in(files, checkpoints).keys()
        used -= {orphan.query for orphan in self.checkpoints}
        self.groups = tuple(_groups(job, admin, used)) if admin is not None else ()

    def remove(self) -> None:
        for orphan in self.checkpoints:
            self._files.remove(orphan.path)
        if self._admin is not None:
            remove_groups(self._admin, self.groups)
        names = {orphan.query for orphan in self.checkpoints}
        lock = read_lock(self._files, self._checkpoints)
        if lock is not None:
            left = tuple(group for group in lock.groups if group.name not in names)
            write_lock(self._files, self._checkpoints, Lock(left))


@contextmanager
def open_orphans(job: Job, progress: Progress | None = None) -> Iterator[Orphans]:
    target, root = job.project.target, Path(job.project.root)
    checkpoints = checkpoints_of(target, root)
    with (
        target_lock(folder_in(own_folder(root), target), target.title),
        files_at(target, checkpoints, own_folder(root)) as files,
        checkpoints_lock(checkpoints, files, target.title),
        _connected(job.project, progress) as admin,
    ):
        yield Orphans(job, files, checkpoints, admin)


@contextmanager
def _connected(project: Project, progress: Progress | None) -> Iterator[Admin | None]:
    """Connect to Kafka; a local broker that never ran has no groups."""
    if is_embedded(project.target) and not broker_folder(Path(project.root)).is_dir():
        yield None
        return
    with connect_kafka(project, progress) as admin:
        yield admin


def _groups(job: Job, admin: Admin, used: Collection[str]) -> Iterator[str]:
    prefix = group_of(job.project.settings.name, "", job.project.target.environment)
    for group in groups_with(admin, prefix, unused=True):
        if group.removeprefix(prefix) not in used:
            yield group


def _orphans(job: Job, files: Files, checkpoints: str) -> Iterator[Orphan]:
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
