"""Finds the environments of a target, and drops one without a trace."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from millstream.deploy.checkpoints import environments as recorded
from millstream.deploy.checkpoints.environments import RecordedEnvironment, files_at
from millstream.engine.spark.target_lock import target_lock
from millstream.kafka.clients import Admin
from millstream.kafka.environment_removal import groups_with, remove_groups, remove_topics, topics_with
from millstream.kafka.registry.client import Registry
from millstream.kafka.registry.local import has_data
from millstream.kafka.registry.target import has_local_registry, reachable_registry
from millstream.kafka.topics import user_topics
from millstream.project.folders import checkpoints_of, folder_in, own_folder
from millstream.project.names import Environment, environment_in, is_environments
from millstream.project.values import Project, Target
from millstream.stores.files import Files
from millstream.stores.folders import tables_in
from millstream.stores.local import LocalTables, all_local_tables


class EnvironmentContents(Struct, frozen=True):
    """All that an environment consists of."""

    environment: str
    recorded: RecordedEnvironment | None
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    subjects: tuple[str, ...]
    tables: tuple[str, ...]
    folders: tuple[str, ...]
    """Its folders that exist: of checkpoints, tables and logs."""

    @property
    def empty(self) -> bool:
        return not (self.topics or self.groups or self.subjects or self.tables or self.folders)


def names_of(project: Project, admin: Admin) -> tuple[str, ...]:
    """Return the environments of which a target has topics or files."""
    target, root = project.target.production, Path(project.root)
    positions = {folder_in(own_folder(root), target).as_posix(), checkpoints_of(target, root)}
    positions |= {store.folder for store in all_local_tables(target, root) if store.folder}
    name = project.settings.name
    environments = {
        environment_in(topic, name) for topic in user_topics(admin) if is_environments(topic, name)
    }
    for path in positions:
        with files_at(target, path, own_folder(root)) as files:
            environments |= {environment_in(file, name) for file in files.names(path)}
    return tuple(sorted(environment for environment in environments if environment is not None))


def environment_contents(project: Project, admin: Admin, name: str) -> EnvironmentContents:
    """Return what an environment consists of; what is production's is never part of it."""
    target, root = _within(project, name), Path(project.root)
    environment = target.environment
    assert environment is not None
    checkpoints, target_folder = checkpoints_of(target, root), folder_in(own_folder(root), target)
    with files_at(target, checkpoints, own_folder(root)) as files:
        record = recorded.read_environment(files, checkpoints)
        folders = [checkpoints] if files.names(checkpoints) else []
    tables: list[str] = []
    for store, stored in _opened_stores(target, root):
        if stored is None:
            tables += store.names()
        elif stored.names(store.folder):
            tables += tables_in(stored, store.folder)
            folders.append(store.folder)
    folders += [str(target_folder)] if target_folder.is_dir() else []
    return EnvironmentContents(
        name,
        record,
        tuple(topics_with(admin, environment.prefix)),
        tuple(groups_with(admin, environment.prefix)),
        _subjects(project, environment),
        tuple(tables),
        tuple(folders),
    )


def drop_environment(project: Project, admin: Admin, contents: EnvironmentContents) -> None:
    """Remove an environment; whatever is left after a failure is removed by the next call."""
    target, root = _within(project, contents.environment), Path(project.root)
    target_folder = folder_in(own_folder(root), target)
    with target_lock(target_folder, target.title):
        remove_topics(admin, contents.topics)
        remove_groups(admin, contents.groups)
        if contents.subjects:
            with _registry(project) as registry:
                assert registry is not None, "it had subjects"
                for subject in contents.subjects:
                    registry.remove(subject)
        for store, stored in _opened_stores(target, root):
            if stored is None:
                store.drop_all()
            else:
                stored.remove(store.folder)
        # Last, since it says what the environment has.
        checkpoints = checkpoints_of(target, root)
        with files_at(target, checkpoints, own_folder(root)) as files:
            files.remove(checkpoints)
        shutil.rmtree(target_folder, ignore_errors=False)


def _within(project: Project, name: str) -> Target:
    environment = Environment(name, project.settings.name, frozenset())
    return replace(project.target, environment=environment)


def _opened_stores(target: Target, root: Path) -> Iterator[tuple[LocalTables, Files | None]]:
    for store in all_local_tables(target, root):
        if not store.folder:
            yield store, None
            continue
        with files_at(target, store.folder, own_folder(root)) as files:
            yield store, files


def _subjects(project: Project, environment: Environment) -> tuple[str, ...]:
    with _registry(project) as registry:
        return tuple(registry.subjects(environment.prefix)) if registry else ()


@contextmanager
def _registry(project: Project) -> Iterator[Registry | None]:
    """Connect to the registry of a target; a local one that was never used is not started."""
    root = Path(project.root)
    if has_local_registry(project.target) and not has_data(root):
        yield None
        return
    with reachable_registry(project.target, root, {}) as address:
        if address is None:
            yield None
            return
        with closing(Registry(address)) as registry:
            yield registry
