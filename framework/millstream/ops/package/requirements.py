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

from millstream.core.errors import Diagnostic, MillstreamError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MILLSTREAM = "millstream"
_SYNC = "install it where this command runs, such as by `uv sync` or `pip install`"


def needed_packages(root: Path, libraries: Iterable[str]) -> list[metadata.Distribution]:
    """Return the installed packages, by name, that a project and the `libraries` of its functions need."""
    project = _table(root / "pyproject.toml", "project")
    is_millstream = canonicalize_name(str(project.get("name") or "")) == MILLSTREAM
    dependencies = (
        [] if is_millstream else [str(dependency) for dependency in project.get("dependencies") or ()]
    )
    return [
        distribution
        for _, distribution in sorted(
            required_packages([MILLSTREAM, *dependencies, *packages_of(libraries)]).items()
        )
    ]


def required_packages(requirements: Iterable[str]) -> dict[str, metadata.Distribution]:
    """Return installed packages by name: those that are wanted, and all that these require here."""
    distributions: dict[str, metadata.Distribution] = {}
    done: set[tuple[str, frozenset[str]]] = set()
    parsed = (_parsed(text, "pyproject.toml") for text in requirements)
    waiting = [requirement for requirement in parsed if _applies(requirement, frozenset())]
    while waiting:
        requirement = waiting.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in done:
            continue
        done.add((name, extras))
        package = _installed(requirement.name)
        distributions[name] = package.distribution
        if not requirement.specifier.contains(package.version, prereleases=True):
            message = (
                f"{package.name} {package.version} is installed, but {requirement.specifier} is required"
            )
            raise MillstreamError(Diagnostic("MS662", message, None, _SYNC))
        waiting += [other for other in package.requires if _applies(other, extras)]
    return distributions


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
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        message = f"the package {name} is required, but not installed"
        raise MillstreamError(Diagnostic("MS662", message, None, _SYNC)) from None
    title = distribution.name
    return _Installed(
        distribution,
        title,
        distribution.version,
        tuple(_parsed(text, title) for text in distribution.requires or ()),
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
    for package in _table(file, "package"):
        locked.setdefault(canonicalize_name(package["name"]), set()).add(str(package.get("version", "")))
    for distribution in distributions:
        versions = locked.get(canonicalize_name(distribution.name))
        if versions is None or distribution.version not in versions:
            expected = " or ".join(sorted(versions)) if versions else "not in it"
            message = f"{distribution.name} {distribution.version} is installed, but uv.lock says: {expected}"
            remedy = "install what it says with `uv sync`, or update it with `uv lock`"
            raise MillstreamError(Diagnostic("MS663", message, None, remedy))
    return True


def _table(file: Path, name: str) -> Any:
    return tomllib.loads(file.read_text(encoding="utf-8")).get(name) or {}
