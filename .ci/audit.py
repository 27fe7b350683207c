"""Compares every package of uv.lock and every jar with a database of advisories that is on this machine.

    uv run python .ci/audit.py all.zip

The database is one or more files from https://osv.dev: PyPI/all.zip and Maven/all.zip of its storage
(osv-vulnerabilities.storage.googleapis.com), or a folder of their JSON files. No network is needed;
`uv audit` asks osv.dev itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from components import Component, jars, packages
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version


def advisories(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_dir():
        for file in sorted(path.glob("*.json")):
            yield json.loads(file.read_text(encoding="utf-8"))
        return
    with ZipFile(path) as archive:
        for name in archive.namelist():
            yield json.loads(archive.read(name))


def findings(
    components: Iterable[Component], published: Iterable[dict[str, Any]]
) -> list[tuple[Component, str, str]]:
    """Return each component with an advisory: its id, and its summary."""
    by_name: dict[tuple[str, str], list[Component]] = {}
    for component in components:
        by_name.setdefault((component.ecosystem, _name(component.ecosystem, component.name)), []).append(
            component
        )
    matches = set()
    for advisory in published:
        if "withdrawn" in advisory:
            continue
        for affected in advisory.get("affected", ()):
            package = affected.get("package", {})
            ecosystem = package.get("ecosystem", "").partition(":")[0]
            for component in by_name.get((ecosystem, _name(ecosystem, package.get("name", ""))), ()):
                if _is_affected(component, affected):
                    matches.add((component, advisory["id"], advisory.get("summary", "")))
    return sorted(matches)


def _name(ecosystem: str, name: str) -> str:
    return canonicalize_name(name) if ecosystem == "PyPI" else name


def _is_affected(component: Component, affected: dict[str, Any]) -> bool:
    if component.version in affected.get("versions", ()):
        return True
    if component.ecosystem != "PyPI":
        # Maven orders versions by rules of its own: its advisories list all versions.
        return False
    return any(
        version_range["type"] == "ECOSYSTEM"
        and _in_range(Version(component.version), version_range["events"])
        for version_range in affected.get("ranges", ())
    )


def _in_range(version: Version, events: Iterable[dict[str, str]]) -> bool:
    inside = False
    for event in events:
        for kind, text in event.items():
            try:
                bound = Version(text)
            except InvalidVersion:
                continue
            if kind == "introduced" and version >= bound:
                inside = True
            elif (kind == "fixed" and version >= bound) or (kind == "last_affected" and version > bound):
                inside = False
    return inside


def main(paths: list[str]) -> int:
    components = [*packages(), *jars()]
    published = (advisory for path in paths for advisory in advisories(Path(path)))
    matches = findings(components, published)
    for component, id_, summary in matches:
        print(f"{component.name} {component.version}: {id_} {summary}")
    print(f"{len(components)} components, {len(matches)} advisories")
    return 1 if matches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
