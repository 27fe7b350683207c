"""Finds the installed packages that a project needs: Millstream's, the project's and its functions'."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from millstream.errors import Diagnostic, MillstreamError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN = "millstream"
_SYNC = "install it where this command runs, such as by `uv sync` or `pip install`"


def needed(root: Path, libraries: Iterable[str]) -> list[metadata.Distribution]:
    """Return the installed packages, by name, that a project and the `libraries` of its functions need."""
    project = _table(root / "pyproject.toml", "project")
    own = canonicalize_name(str(project.get("name") or "")) == OWN
    wanted = [] if own else [str(each) for each in project.get("dependencies") or ()]
    return [found for _, found in sorted(closure([OWN, *wanted, *packages_of(libraries)]).items())]


def closure(wanted: Iterable[str]) -> dict[str, metadata.Distribution]:
    """Return installed packages by name: those that are wanted, and all that these require here."""
    found: dict[str, metadata.Distribution] = {}
    done: set[tuple[str, frozenset[str]]] = set()
    parsed = (_parsed(each, "pyproject.toml") for each in wanted)
    waiting = [each for each in parsed if _applies(each, frozenset())]
    while waiting:
        each = waiting.pop()
        name, extras = canonicalize_name(each.name), frozenset(each.extras)
        if (name, extras) in done:
            continue
        done.add((name, extras))
        package = _installed(each.name)
        found[name] = package.distribution
        if not each.specifier.contains(package.version, prereleases=True):
            message = f"{package.name} {package.version} is installed, but {each.specifier} is required"
            raise MillstreamError(Diagnostic("MS662", message, None, _SYNC))
        waiting += [other for other in package.requires if _applies(other, extras)]
    return found


class _Installed(NamedTuple):
    distribution: metadata.Distribution
    name: str
    version: str
    requires: tuple[Requirement, ...]


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras})


def _parsed(text: str, where: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement:
        message = f"{where} requires '{text}', which is not a requirement of Python packages"
        remedy = "write a name and perhaps versions: numpy>=2"
        raise MillstreamError(Diagnostic("MS662", message, None, remedy)) from None


@cache
def _installed(name: str) -> _Installed:
    """Return an installed package; each of its facts is parsed from all of its metadata, so only once."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        message = f"the package {name} is required, but not installed"
        raise MillstreamError(Diagnostic("MS662", message, None, _SYNC)) from None
    title = found.name
    return _Installed(
        found, title, found.version, tuple(_parsed(text, title) for text in found.requires or ())
    )


def packages_of(libraries: Iterable[str]) -> Iterator[str]:
    """Yield the packages that have some modules; functions may import a module only where it exists."""
    others = []
    for module in sorted(set(libraries)):
        try:
            yield metadata.distribution(module).name
        except metadata.PackageNotFoundError:
            others.append(module)
    # Reads the lists of files of all packages.
    by_module = metadata.packages_distributions() if others else {}
    for module in others:
        yield from sorted(set(by_module.get(module, ())))


def check_lock(root: Path, distributions: Iterable[metadata.Distribution]) -> bool:
    """Compare installed packages with uv.lock, if there is one for the project; return whether there is."""
    file = next((f for f in (folder / "uv.lock" for folder in (root, *root.parents)) if f.is_file()), None)
    if file is None:
        return False
    locked: dict[str, set[str]] = {}
    for each in _table(file, "package"):
        locked.setdefault(canonicalize_name(each["name"]), set()).add(str(each.get("version", "")))
    for each in distributions:
        versions = locked.get(canonicalize_name(each.name))
        if versions is None or each.version not in versions:
            listed = " or ".join(sorted(versions)) if versions else "not in it"
            message = f"{each.name} {each.version} is installed, but uv.lock says: {listed}"
            remedy = "install what it says with `uv sync`, or update it with `uv lock`"
            raise MillstreamError(Diagnostic("MS663", message, None, remedy))
    return True


def _table(file: Path, name: str) -> Any:
    return tomllib.loads(file.read_text(encoding="utf-8")).get(name) or {}
