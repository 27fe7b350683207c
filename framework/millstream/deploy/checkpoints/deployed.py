"""What is deployed on a target, according to its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from millstream.deploy.checkpoints.environments import files_at
from millstream.deploy.checkpoints.files import checkpoint_folder, last_begun, read_lock, records_in
from millstream.deploy.planning.records import Deployed, QueryRecord
from millstream.project.folders import checkpoints_of
from millstream.project.values import Project
from millstream.stores.files import Files, path_in

_MANIFEST = "manifest.json"
_BEFORE = "manifest.previous.json"


def read_deployed(project: Project, folder: Path) -> Deployed:
    """Return what is deployed on a project's target; Spark reads checkpoints that are not on this machine."""
    checkpoints = checkpoints_of(project.target, Path(project.root))
    with files_at(project.target, checkpoints, folder) as files:
        return deployed_at(files, checkpoints)


def deployed_at(files: Files, checkpoints: str) -> Deployed:
    records = records_in(files, checkpoints)
    lock, manifest = read_lock(files, checkpoints), files.read(path_in(checkpoints, _MANIFEST))
    return Deployed(records, lock, manifest, never_started(files, checkpoints, records))


def never_started(files: Files, checkpoints: str, records: Mapping[str, QueryRecord]) -> frozenset[str]:
    return frozenset(
        name
        for name, record in records.items()
        if last_begun(files, checkpoint_folder(checkpoints, name).spark(record)) is None
    )


def write_manifest(files: Files, checkpoints: str, manifest: bytes) -> None:
    path = path_in(checkpoints, _MANIFEST)
    if manifest and files.read(path) != manifest:
        files.write(path, manifest)


def retain_manifest(files: Files, checkpoints: str) -> None:
    """Retain the manifest of the models that are about to be replaced."""
    files.write(path_in(checkpoints, _BEFORE), files.read(path_in(checkpoints, _MANIFEST)) or b"")


def restore_manifest(files: Files, checkpoints: str) -> None:
    before = files.read(path_in(checkpoints, _BEFORE))
    if before:
        files.write(path_in(checkpoints, _MANIFEST), before)
    elif before is not None:
        files.remove(path_in(checkpoints, _MANIFEST))
    files.remove(path_in(checkpoints, _BEFORE))
