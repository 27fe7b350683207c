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
from millstream.project.s3 import S3, arrow_s3, delta_options
from millstream.project.values import Project, RowSource
from millstream.sources.tables import START_OVER

if TYPE_CHECKING:
    from deltalake import DeltaTable


class AddedFiles(Struct, frozen=True):
    """Files with new rows, which are all in the table at `version`."""

    version: int
    names: tuple[str, ...]


def folder_of(source: RowSource, project: Project) -> str:
    """Return the folder of a table, which must exist, or its address in S3."""
    folder = _folder(source, project)
    if folder.startswith(S3):
        try:
            log = arrow_s3(project.target.settings).get_file_info(f"{folder.removeprefix(S3)}/_delta_log")
        except OSError as error:
            raise _unreadable(source, folder, error) from None
        exists = log.type.name != "NotFound"
    else:
        exists = (Path(folder) / "_delta_log").is_dir()
    if not exists:
        message = f"the Delta table of source '{source.id}' does not exist: {folder}"
        remedy = "let its writer create it, or change the path of the source"
        raise MillstreamError(Diagnostic("MS645", message, source.location, remedy))
    return folder


def _folder(source: RowSource, project: Project) -> str:
    address = absolute_path(source.settings["path"], Path(project.root))
    return str(local_path(address) or address.rstrip("/"))


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
    options = delta_options(project.target.settings) if folder.startswith(S3) else None
    try:
        return DeltaTable(folder, storage_options=options)
    except (DeltaError, OSError) as error:
        raise _unreadable(source, folder, error) from None


def _unreadable(source: RowSource, folder: str, error: Exception) -> MillstreamError:
    message = f"the Delta table of source '{source.id}' can't be read: {str(error)[:300]}"
    remedy = "check its folder, or change the path of the source"
    if folder.startswith(S3):
        remedy = "check the credentials and the region of S3, or change the path of the source"
    return MillstreamError(Diagnostic("MS645", message, source.location, remedy))


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
    path = f"{_folder(source, project)}/_delta_log/{version:020}.json"
    try:
        if path.startswith(S3):
            with arrow_s3(project.target.settings).open_input_stream(path.removeprefix(S3)) as file:
                lines = file.read().splitlines()
        else:
            lines = Path(path).read_bytes().splitlines()
    except FileNotFoundError:
        message = f"version {version} of the Delta table of source '{source.id}' is no longer in its log"
        raise MillstreamError(Diagnostic("MS645", message, source.location, START_OVER)) from None
    for line in lines:
        yield from msgspec.json.decode(line).items()
