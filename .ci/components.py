"""What a release contains beside its own code: Python packages from uv.lock, and jars from the catalogs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from millstream.local.jars.catalog import read_catalog

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True, order=True)
class Component:
    ecosystem: str
    """As advisories call it: PyPI or Maven."""
    name: str
    version: str
    sha256: str = ""


def packages(lock: Path = ROOT / "uv.lock") -> list[Component]:
    """Return every package that uv.lock names, except Millstream itself."""
    content = tomllib.loads(lock.read_text(encoding="utf-8"))
    return sorted(
        Component("PyPI", package["name"], package["version"])
        for package in content["package"]
        if "registry" in package["source"]
    )


def jars() -> list[Component]:
    """Return every jar that can be downloaded, once."""
    distinct = {jar for feature in read_catalog().values() for jar in feature}
    return sorted(
        Component("Maven", f"{jar.group}:{jar.artifact}", jar.version, jar.sha256) for jar in distinct
    )
