"""Delta tables without Spark: delta-rs opens them, DataFusion runs queries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.folders import local_path
from millstream.project.s3 import S3, delta_options
from millstream.project.values import Target
from millstream.stores.delta.folder import delta_folder
from millstream.stores.folders import writable_folder
from millstream.stores.local_folders import LocalFolders
from millstream.stores.tables.relations import StoredRelation

if TYPE_CHECKING:
    from millstream.stores.tables.datafusion import OpenedTables


class LocalDelta(LocalFolders, frozen=True):
    def open(self, table: StoredRelation, opened: OpenedTables) -> None:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        from millstream.stores.tables.datafusion_errors import clean_error

        path = self.tables.read(table.id)
        options = delta_options(self.settings) if path.startswith(S3) else None
        try:
            opened.add(table, DeltaTable(path, storage_options=options))
        except TableNotFoundError:
            return
        except (DeltaError, OSError) as error:
            remedy = "check that the storage is reachable and its credentials are in the environment"
            if local_path(path) and (code := re.search("%[0-9A-Fa-f]{2}", path)):
                remedy = f"rename the folder that has '{code.group()}' in its name, which delta-rs decodes"
            message = f"the table '{table.name}' can't be read: {clean_error(str(error))[:300]}"
            raise MillstreamError(Diagnostic("MS847", message, None, remedy)) from None

    def is_read(self, relation: NodeId, offsets: Sequence[Mapping[str, Any]]) -> bool:
        folder, version = self._folder(relation), self._version(relation)
        if folder is None or version is None:
            return False
        try:
            id_, newest = version
            if {"table": id_, "number": newest} in offsets:
                return True
            (offset,) = (offset for offset in offsets if offset.get("reservoirId") == id_)
            read_version, index = offset["reservoirVersion"], offset["index"]
            # Of the version that it is at, it has read the files up to the index.
            left = (
                _changes(folder, version) - (index + 1) * (version == read_version)
                for version in range(read_version, newest + 1)
            )
            return not offset["isStartingVersion"] and all(count <= 0 for count in left)
        except (OSError, ValueError, KeyError):
            return False  # a build says what is wrong

    def version(self, relation: NodeId) -> str | None:
        version = self._version(relation)
        return None if version is None else "{} {}".format(*version)

    def _version(self, relation: NodeId) -> tuple[str, int] | None:
        """Return the id and the version of a table in a folder; None if there is none that can be read."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        if (folder := self._folder(relation)) is None:
            return None
        try:
            table = DeltaTable(str(folder))
            return str(table.metadata().id), table.version()
        except (DeltaError, OSError):
            return None

    def _folder(self, relation: NodeId) -> Path | None:
        return local_path(self.tables.read(relation))

    def reached(self) -> str:
        return writable_folder(self.folder, "path", "MS847")


def _changes(folder: Path, version: int) -> int:
    """Return how many files a version's changes are in, as Delta's change feed reads them."""
    lines = (folder / "_delta_log" / f"{version:020}.json").read_bytes().splitlines()
    counts = Counter(
        kind
        for line in lines
        for kind, action in msgspec.json.decode(line).items()
        if kind == "cdc" or (kind in {"add", "remove"} and action["dataChange"])
    )
    return counts["cdc"] or counts["add"] + counts["remove"]


def locate(target: Target, root: Path) -> LocalDelta:
    return LocalDelta(delta_folder(target, root), target.settings)
