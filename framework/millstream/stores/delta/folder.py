"""The folder of a target's Delta tables."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from millstream.project.folders import absolute_path, target_folder
from millstream.project.values import Target

REFERENCES = "_sources"
"""The folder of reference topics."""


class DeltaFolder(Struct, frozen=True):
    path: str

    def of(self, relation: str) -> str:
        """Return the folder of a table: `model.totals`, or a reference topic `source.shop.products`."""
        kind, _, name = relation.partition(".")
        parts = (self.path.rstrip("/"), *((REFERENCES,) if kind == "source" else ()), name)
        return "/".join(parts)


def delta_folder(target: Target, root: Path) -> DeltaFolder:
    given = (target.settings.get("tables") or {}).get("path")
    return DeltaFolder(
        absolute_path(given, root) if given else str(target_folder(root, target.name) / "tables")
    )
