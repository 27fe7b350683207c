"""The catalog of jars by feature, with coordinates, checksums and sizes, from all `jars.toml` files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from millstream.stores.registry import jar_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).with_name("jars.toml")


class Jar(Struct, frozen=True):
    """One file of a Maven repository."""

    group: str
    artifact: str
    version: str
    sha256: str
    size: int
    packaging: str = ".jar"
    """How its file's name ends, with a classifier."""

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}{self.packaging}"

    @property
    def path(self) -> str:
        """Its path in a Maven repository."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.name}"


Catalog = Mapping[str, tuple[Jar, ...]]


@cache
def read_catalog() -> Catalog:
    """Return the jars by feature; each store that needs jars is a feature with the store's name."""
    return _catalog(_read(FILE) | {store: _read(file) for store, file in jar_files().items()})


def catalog_in(file: Path) -> Catalog:
    """Return the jars of another file of features."""
    return _catalog(_read(file))


def _catalog(features: Mapping[str, Any]) -> Catalog:
    return {
        feature: tuple(Jar(*coordinates.split(":"), **entry) for coordinates, entry in jars.items())
        for feature, jars in features.items()
    }


def _read(file: Path) -> dict[str, Any]:
    jars: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    return jars


def jars_of(catalog: Catalog, features: Iterable[str]) -> tuple[Jar, ...]:
    """Return the jars of some features, without duplicates."""
    return tuple(dict.fromkeys(jar for feature in features for jar in catalog[feature]))
