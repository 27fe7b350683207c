"""The version to compare with: found, compiled, and not mixed up with what is worked on."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millstream.compile import compile_project
from millstream.errors import Diagnostic, MillstreamError, Note
from millstream.project.profiles import FILE as PROFILES
from millstream.project.settings import read_settings
from millstream.review.checkout import checked_out
from millstream.review.git import commits_apart, find_commit, find_repository
from millstream.review.version import Version, version_of

_VERSIONS = "cache/.versions"
_CACHE = "cache/compile.msgpack"
_TOLD = 3


def older_version(
    root: Path,
    name: str,
    *,
    where_it_left: bool = False,
    target: str | None = None,
    variables: str | Mapping[str, Any] | None = None,
    profiles_dir: Path | None = None,
) -> tuple[Version, tuple[Diagnostic, ...]]:
    """Return a version by git's name, and warnings; the working tree has been compiled before."""
    repository = find_repository(root)
    commit = find_commit(repository, name, where_it_left=where_it_left)
    target_path = root / read_settings(root)[0].target_path
    folder, warnings = checked_out(repository, commit, target_path / _VERSIONS)
    _lend_cache(target_path, folder)
    if profiles_dir is None and not (folder / PROFILES).is_file() and (root / PROFILES).is_file():
        profiles_dir = root  # which is often kept out of git
    try:
        found = compile_project(folder, target=target, variables=variables, profiles_dir=profiles_dir)
    except MillstreamError as error:
        message = f"{name} can't be compiled at all: {error.diagnostics[0].message}"
        remedy = "compare with a later version"
        raise MillstreamError(Diagnostic("MS722", message, None, remedy)) from None
    errors = [each for each in found.diagnostics if each.severity == "error"]
    if errors:
        warnings = (*warnings, _broken(name, errors))
    elif not where_it_left and (apart := commits_apart(repository, commit)):
        warnings = (*warnings, _behind(name, apart))
    cache = folder / read_settings(folder)[0].target_path / "cache"
    return version_of(name, found, folder, commit=commit.short, cache=cache), warnings


def _lend_cache(target: Path, folder: Path) -> None:
    """Most models are the same in both versions: what was found of them is right for both."""
    lent = folder / read_settings(folder)[0].target_path / _CACHE
    with contextlib.suppress(OSError):
        if not lent.exists():
            lent.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target / _CACHE, lent)


def _broken(name: str, errors: list[Diagnostic]) -> Diagnostic:
    notes = tuple(Note(each.message, each.location) for each in errors[:_TOLD])
    message = f"{name} does not compile: only columns, types, options and texts are compared"
    remedy = "compare with a version that compiles to see state, topics and cost"
    return Diagnostic("MS726", message, None, remedy, notes=notes, severity="warning")


def _behind(name: str, apart: int) -> Diagnostic:
    number = "a commit" if apart == 1 else f"{apart:,} commits"
    message = f"{name} has {number} that is not here: what changed there is shown the other way round"
    message = message if apart == 1 else message.replace("that is", "that are")
    remedy = "add --merge-base to compare with where this branch left it"
    return Diagnostic("MS727", message, None, remedy, severity="warning")
