"""Finds, checks out and compiles the version to compare with, apart from the working tree."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millstream.compile import compile_project
from millstream.core.errors import Diagnostic, DiagnosticNote, MillstreamError
from millstream.core.target_folder import claim_folder
from millstream.project.profiles import FILE as PROFILES
from millstream.project.settings import read_settings
from millstream.review.checkout import check_out
from millstream.review.git import find_commit, find_repository, main_branch, missing_commits
from millstream.review.version import ReviewedVersion, version_of

_VERSIONS = "cache/.checkouts"
_CACHE = "cache/compile.msgpack"
_SHOWN = 3


def version_in_git(
    root: Path,
    name: str | None,
    *,
    merge_base: bool = False,
    target: str | None = None,
    variables: str | Mapping[str, Any] | None = None,
    profiles_dir: Path | None = None,
    strict_env: bool = True,
) -> tuple[ReviewedVersion, tuple[Diagnostic, ...]]:
    """Return a version by its name in git, and warnings; the working tree has been compiled before.

    Without a name, it is the commit where this branch left the main branch.
    """
    repository = find_repository(root)
    name, merge_base = (name, merge_base) if name else (main_branch(repository), True)
    commit = find_commit(repository, name, merge_base=merge_base)
    target_path = root / read_settings(root)[0].target_path
    folder, warnings = check_out(repository, commit, target_path / _VERSIONS)
    _copy_cache(target_path, folder)
    if profiles_dir is None and not (folder / PROFILES).is_file() and (root / PROFILES).is_file():
        profiles_dir = root  # profiles.yml is often not in git
    try:
        compiled = compile_project(
            folder, target=target, variables=variables, profiles_dir=profiles_dir, strict_env=strict_env
        )
    except MillstreamError as error:
        message = f"{name} can't be compiled: {error.diagnostics[0].message}"
        remedy = "compare with a later version"
        raise MillstreamError(Diagnostic("MS722", message, None, remedy)) from None
    errors = [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"]
    if errors:
        warnings = (*warnings, _broken(name, errors))
    elif not merge_base and (number := missing_commits(repository, commit)):
        warnings = (*warnings, _behind(name, number))
    cache = folder / read_settings(folder)[0].target_path / "cache"
    return version_of(name, compiled, folder, commit=commit.short, cache=cache), warnings


def _copy_cache(target: Path, folder: Path) -> None:
    """Copy the compile cache of the working tree, because most models are the same in both versions."""
    target_path = read_settings(folder)[0].target_path
    claim_folder(folder, target_path)
    copy = folder / target_path / _CACHE
    with contextlib.suppress(OSError):
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target / _CACHE, copy)


def _broken(name: str, errors: list[Diagnostic]) -> Diagnostic:
    notes = tuple(DiagnosticNote(error.message, error.location) for error in errors[:_SHOWN])
    message = f"{name} does not compile: only columns, types, options and texts are compared"
    remedy = "to review state, topics and cost, compare with a version that compiles"
    return Diagnostic("MS726", message, None, remedy, notes=notes, severity="warning")


def _behind(name: str, number: int) -> Diagnostic:
    commits = "1 commit" if number == 1 else f"{number:,} commits"
    message = f"{name} has {commits} that this branch lacks: their changes are shown in reverse"
    remedy = "add --merge-base to compare with the commit where this branch left it"
    return Diagnostic("MS727", message, None, remedy, severity="warning")
