"""The jars that Spark needs for a target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from millstream.machine.jars import Progress, fetch
from millstream.project.values import Target
from millstream.stores.registry import configured, jar_files


def jars_for(target: Target, formats: Iterable[str] = (), progress: Progress | None = None) -> list[Path]:
    """Return the files; none where the cluster has jars of its own.

    `formats` are the features of the catalog that formats of records need, `Catalog.jars`.
    """
    if target.settings.get("jars") == "provided":
        return []
    stores = configured(target.settings.get("tables") or {})
    return jars_of(("kafka", *(store for store in stores if store in jar_files()), *formats), progress)


def jars_of(features: Sequence[str], progress: Progress | None = None) -> list[Path]:
    """Return the files of some features, each once."""
    found = fetch(features, progress)
    return list(dict.fromkeys(path for feature in features for path in found[feature]))
