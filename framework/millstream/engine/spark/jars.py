"""The jars that Spark needs for a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from millstream.engine.spark.functions import functions_jar
from millstream.local.jars import Progress, fetch_jars
from millstream.project.secrets import revealed_text
from millstream.project.values import Target
from millstream.stores.registry import catalogs_of_stores, configured_stores, jar_files

_SCHEMES = {"s3a": ("s3", "hadoop-aws")}
"""By scheme: the feature, and the jar by which a target brings its own client."""


def jars_for(target: Target, formats: Iterable[str] = (), progress: Progress | None = None) -> list[Path]:
    """Return the jar files; only Millstream's own if the cluster provides the others.

    `formats` are the jar features that sources and formats of records need, `Catalog.jars`.
    """
    return jars_of(features_of(target, formats), progress)


def features_of(target: Target, formats: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the features whose jars Spark needs; none if the cluster provides them."""
    if target.settings.get("jars") == "provided":
        return ()
    stores = configured_stores(target.settings.get("tables") or {})
    brought = _own_clients(target)
    needed = ("kafka", *(store for store in stores if store in jar_files()), *formats, *_file_systems(target))
    return tuple(feature for feature in dict.fromkeys(needed) if feature not in brought)


def _file_systems(target: Target) -> Iterator[str]:
    """Yield the features of the file systems on which the target keeps tables and checkpoints."""
    settings = [target.settings.get("checkpoints"), *(target.settings.get("tables") or {}).values()]
    positions = [revealed_text(setting) for setting in settings]
    for scheme, (feature, _) in _SCHEMES.items():
        if any(location.startswith(f"{scheme}://") for location in positions):
            yield feature
    for name in catalogs_of_stores(target.settings.get("tables") or {}):
        properties = (target.settings.get("catalogs") or {}).get(revealed_text(name), {})
        in_s3 = revealed_text(properties.get("warehouse", "")).startswith(("s3://", "s3a://"))
        if in_s3 or any(key.startswith("s3.") for key in properties):
            yield "s3"


def _own_clients(target: Target) -> set[str]:
    """Return the features whose client a target brings: two versions of it don't work together."""
    spark_options = str({name: str(option) for name, option in (target.settings.get("spark") or {}).items()})
    return {feature for feature, jar in _SCHEMES.values() if jar in spark_options}


def jars_of(features: Sequence[str], progress: Progress | None = None) -> list[Path]:
    """Return the files of some features without duplicates, and the jar of Millstream's own functions."""
    jars = fetch_jars(features, progress)
    named = dict.fromkeys(path for feature in features for path in jars[feature])
    return [*named, functions_jar(progress)]
