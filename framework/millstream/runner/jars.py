"""The jars that Spark needs for a target."""

from __future__ import annotations

from pathlib import Path

from millstream.machine.jars import Progress, fetch
from millstream.project.values import Target
from millstream.stores.registry import configured, jar_files


def jars_for(target: Target, progress: Progress | None = None) -> list[Path]:
    """Return the files; none where the cluster has jars of its own."""
    if target.settings.get("jars") == "provided":
        return []
    stores = configured(target.settings.get("tables") or {})
    features = ["kafka", *(store for store in stores if store in jar_files())]
    found = fetch(features, progress)
    return list(dict.fromkeys(path for feature in features for path in found[feature]))
