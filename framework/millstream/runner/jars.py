"""The jars that Spark needs for a target."""

from __future__ import annotations

from pathlib import Path

from millstream.machine.jars import Progress, fetch
from millstream.project.values import Target


def jars_for(target: Target, progress: Progress | None = None) -> list[Path]:
    """Return the files; none where the cluster has jars of its own."""
    if target.settings.get("jars") == "provided":
        return []
    features = ["kafka", "delta", *(["postgres"] if "url" in (target.settings.get("tables") or {}) else [])]
    found = fetch(features, progress)
    return list(dict.fromkeys(path for feature in features for path in found[feature]))
