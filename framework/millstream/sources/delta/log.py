"""The log of a Delta table: what its versions add, and its newest version, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.project.folders import absolute_path, local_path
from millstream.project.values import Project, RowSource
from millstream.sources.tables import START_OVER

if TYPE_CHECKING:
    from deltalake import DeltaTable


class AddedFiles(Struct, frozen=True):
    """Files with new rows, which are all in the table at `version`."""

    version: int
    names: tuple[str, ...]


def folder_of(source: RowSource, project: Project) -> Path:
    """Return the folder of a table, which must exist."""
    path = local_path(absolute_path(source.settings["path"], Path(project.root)))
    assert path is not None, "only folders of this machine are accepted"
    if not (path / "_delta_log").is_dir():
        message = f"the Delta table of source '{source.id}' does not exist: {path}"
        remedy = "let its writer create it, or change the path of the source"
        raise MillstreamError(Diagnostic("MS645", message, source.location, remedy))
    return path


def newest_version(source: RowSource, project: Project) -> tuple[str, int]:
    """Return the id of a table and its newest version."""
    table = _open(source, project)
    return str(table.metadata().id), table.version()


def check_change_feed(source: RowSource, project: Project) -> None:
    """Raise if a table does not record its changes."""
    if _open(source, project).metadata().configuration.get("delta.enableChangeDataFeed") != "true":
        message = f"the Delta table of source '{source.id}' has a key, and no change feed"
        remedy = "let its writer set the property delta.enableChangeDataFeed to true, or remove the key"
        raise MillstreamError(Diagnostic("MS645", message, source.location, remedy))


def _open(source: RowSource, project: Project) -> DeltaTable:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    folder = folder_of(source, project)
    try:
        return DeltaTable(str(folder), without_files=True)
    except (DeltaError, OSError) as error:
        message = f"the Delta table of source '{source.id}' can't be read: {str(error)[:300]}"
        remedy = "check its folder, or change the path of the source"
        raise MillstreamError(Diagnostic("MS645", message, source.location, remedy)) from None


def added_files(source: RowSource, project: Project, first: int, end: int) -> list[AddedFiles]:
    """Return the files with new rows of the versions from `first` to before `end`.

    Versions that delete or change rows add none. A version that removes files ends a group of files, since
    later ones have not all of its files.
    """
    groups: list[AddedFiles] = []
    names: list[str] = []
    for version in range(first, end):
        removed, changed, added = _actions_of(source, project, version)
        if removed and names:
            groups.append(AddedFiles(version - 1, tuple(names)))
            names = []
        if not changed:
            names += added
    return [*groups, AddedFiles(end - 1, tuple(names))] if names else groups


def _actions_of(source: RowSource, project: Project, version: int) -> tuple[bool, bool, list[str]]:
    """Return whether a version removes files, whether that changes rows, and which files have new rows."""
    removes, added = [], []
    for kind, action in _log_entries(source, project, version):
        if kind == "remove":
            removes.append(action["dataChange"])
        elif kind == "add" and action["dataChange"]:
            added.append(unquote(action["path"]).rpartition("/")[2])
    return bool(removes), any(removes), added


def _log_entries(source: RowSource, project: Project, version: int) -> Iterator[tuple[str, dict[str, Any]]]:
    path = folder_of(source, project) / "_delta_log" / f"{version:020}.json"
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        message = f"version {version} of the Delta table of source '{source.id}' is no longer in its log"
        raise MillstreamError(Diagnostic("MS645", message, source.location, START_OVER)) from None
    for line in lines:
        yield from msgspec.json.decode(line).items()
