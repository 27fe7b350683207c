"""The jars that Spark needs for a target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from millstream.machine.jars import Progress, fetch
from millstream.project.values import Target
from millstream.runner.spark.functions import functions_jar
from millstream.stores.registry import configured, jar_files


def jars_for(target: Target, formats: Iterable[str] = (), progress: Progress | None = None) -> list[Path]:
    """Return the jar files; only Millstream's own if the cluster provides the others.

    `formats` are the jar features that record formats need, `Catalog.jars`.
    """
    return jars_of(features_of(target, formats), progress)


def features_of(target: Target, formats: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the features whose jars Spark needs; none if the cluster provides them."""
    if target.settings.get("jars") == "provided":
        return ()
    stores = configured(target.settings.get("tables") or {})
    return ("kafka", *(store for store in stores if store in jar_files()), *formats)


def jars_of(features: Sequence[str], progress: Progress | None = None) -> list[Path]:
    """Return the files of some features without duplicates, and the jar of Millstream's own functions."""
    found = fetch(features, progress)
    named = dict.fromkeys(path for feature in features for path in found[feature])
    return [*named, functions_jar(progress)]
