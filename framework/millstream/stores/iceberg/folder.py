"""The folder of a target's Iceberg tables."""

from __future__ import annotations

from pathlib import Path

from millstream.project.values import Target
from millstream.stores.folders import TableFolder, table_folder


def iceberg_folder(target: Target, root: Path) -> TableFolder:
    return table_folder(target, root, "iceberg_path", "iceberg")
