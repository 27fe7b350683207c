"""The folder of a target's tables, for stores that keep each table in a folder of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError, os_reason
from millstream.core.node_id import NodeId
from millstream.project.folders import local_path, place_of
from millstream.project.names import Environment
from millstream.project.values import Target
from millstream.stores.files import Files

REFERENCES = "_sources"
"""The folder of reference topics."""
RECORDS = "_millstream"
"""A folder next to those of tables: readers of a table find nothing but its rows in its folder."""


class TableFolder(Struct, frozen=True):
    path: str
    environment: Environment | None = None
    production: str = ""
    """In an environment: the folder of tables that are read from production."""

    def read(self, relation: NodeId) -> str:
        """Return the folder to read a table from: `model.totals`, or the topic `source.shop.products`."""
        deferred = self.environment is not None and self.environment.defers(relation)
        return _in(self.production if deferred else self.path, relation)

    def written(self, relation: NodeId) -> str:
        """Return the folder of a table to write, which in an environment is never one of production."""
        return _in(self.path, relation)


def tables_in(files: Files, folder: str) -> list[str]:
    """Return the names of the tables and stored reference topics in a folder of tables."""
    names = set(files.names(folder))
    references = files.names(f"{folder}/{REFERENCES}") if REFERENCES in names else ()
    return sorted({*names, *references} - {REFERENCES, RECORDS})


def writable_folder(path: str, option: str, code: str) -> str:
    """Try to write to the nearest existing folder, and return its path; Spark alone reaches other storage.

    `option` of `tables:` names the folder, and `code` is the error of its store.
    """
    if (local_folder := local_path(path)) is None:
        return f"{path}: known when a command starts Spark"
    folder = next(parent for parent in (local_folder, *local_folder.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            return path
    except OSError as error:
        message = f"the tables' folder {path} can't be written: {os_reason(error)}"
        remedy = f"make it writable, or set another {option} under `tables:`"
        raise MillstreamError(Diagnostic(code, message, None, remedy)) from None


def _in(folder: str, relation: NodeId) -> str:
    kind, name = relation.kind, relation.name
    return "/".join((folder.rstrip("/"), *((REFERENCES,) if kind == "source" else ()), name))


def table_folder(target: Target, root: Path, option: str, usual: str) -> TableFolder:
    """Return the folder that an option of `tables:` names, or the `usual` one of the target."""
    path = (target.settings.get("tables") or {}).get(option)
    folder = place_of(target, root, path, usual)
    if target.environment is None:
        return TableFolder(folder)
    return TableFolder(folder, target.environment, place_of(target.production, root, path, usual))
