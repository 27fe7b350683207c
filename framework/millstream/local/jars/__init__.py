"""Jars with exact coordinates and checksums, in the user's cache."""

from millstream.local.jars.cache import cache_folder, jars_folder
from millstream.local.jars.catalog import Catalog, Jar, catalog_in, jars_of, read_catalog
from millstream.local.jars.fetch import Progress, fetch_jars, missing_jars

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
