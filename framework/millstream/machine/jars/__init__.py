"""Jars with exact coordinates and checksums, in the user's cache."""

from millstream.machine.jars.cache import cache_folder, jars_folder
from millstream.machine.jars.catalog import Catalog, Jar, jars_of, read_catalog
from millstream.machine.jars.fetch import Progress, fetch, missing

__all__ = [
    "Catalog",
    "Jar",
    "Progress",
    "cache_folder",
    "fetch",
    "jars_folder",
    "jars_of",
    "missing",
    "read_catalog",
]
