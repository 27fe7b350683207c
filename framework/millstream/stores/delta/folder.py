"""The folder of a target's Delta tables."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.project.folders import place_of
from millstream.project.names import Environment
from millstream.project.values import Target

REFERENCES = "_sources"
"""The folder of reference topics."""


class DeltaFolder(Struct, frozen=True):
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


def _in(folder: str, relation: NodeId) -> str:
    kind, name = relation.kind, relation.name
    return "/".join((folder.rstrip("/"), *((REFERENCES,) if kind == "source" else ()), name))


def delta_folder(target: Target, root: Path) -> DeltaFolder:
    path = (target.settings.get("tables") or {}).get("path")
    folder = place_of(target, root, path, "tables")
    if target.environment is None:
        return DeltaFolder(folder)
    return DeltaFolder(folder, target.environment, place_of(target.production, root, path, "tables"))
