"""Jars with exact coordinates and checksums, in the user's cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from millstream.local.jars.cache import cache_folder, is_good, jars_folder
from millstream.local.jars.catalog import Catalog, Jar, catalog_in, jars_of, read_catalog

__all__ = [
    "Catalog",
    "Jar",
    "Progress",
    "cache_folder",
    "catalog_in",
    "fetch_jars",
    "jars_folder",
    "jars_of",
    "missing_jars",
    "read_catalog",
]


Progress = Callable[[str, int, int], None]
"""Called with the current step, the number of fetched bytes, and the total."""


def fetch_jars(
    features: Sequence[str],
    progress: Progress | None = None,
    *,
    catalog: Catalog | None = None,
    verify: bool = False,
) -> dict[str, tuple[Path, ...]]:
    """Return the jars' files by feature; missing and damaged jars are fetched.

    With `verify`, the checksum of every file is verified.
    """
    catalog = read_catalog() if catalog is None else catalog
    folder = jars_folder()
    required = missing_jars(features, catalog=catalog, verify=verify)
    if required:
        # This imports clients of HTTP and TLS, which most commands do not need.
        from millstream.local.jars.download import download_jars

        download_jars(required, folder, partial(progress, "jars") if progress else None)
    return {feature: tuple(folder / jar.name for jar in catalog[feature]) for feature in features}


def missing_jars(
    features: Iterable[str], *, catalog: Catalog | None = None, verify: bool = False
) -> tuple[Jar, ...]:
    folder = jars_folder()
    jars = jars_of(read_catalog() if catalog is None else catalog, features)
    return tuple(jar for jar in jars if not is_good(jar, folder / jar.name, verify=verify))
