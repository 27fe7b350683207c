"""Writes a project's files of another version to a separate folder, where they can be compiled.

Only files that a compile reads are written. The folder is named after git's tree id, so that the next review
can reuse it with its caches. Its parent's name starts with a dot, so that tools don't look for tests there.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.formats.registry import SCHEMA_SUFFIXES
from millstream.project.file_list import SUFFIXES
from millstream.project.imports import paths_reached
from millstream.project.profiles import FILE as PROFILES
from millstream.project.settings import FILE as SETTINGS
from millstream.project.settings import read_settings
from millstream.review.git import Commit, GitRepository, TreeEntry, list_files, read_blobs, tree_of

_SUFFIXES = (*SUFFIXES, *SCHEMA_SUFFIXES, ".toml")
_SINGLE = (SETTINGS, PROFILES, "selectors.yml")
_MOST_VERSIONS = 3
_DEPTH = 8
"""How many links to links are followed."""


def check_out(
    repository: GitRepository, commit: Commit, versions: Path
) -> tuple[Path, tuple[Diagnostic, ...]]:
    """Return the folder of a version below `versions`, and warnings about skipped files."""
    folder = versions / tree_of(repository, commit)
    warnings: list[Diagnostic] = []
    if not folder.is_dir():
        versions.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=versions, prefix=".draft-"))
        try:
            warnings = _write(repository, commit, draft)
            if warnings:
                text = "\n".join(warning.message for warning in warnings)
                (draft / _WARNINGS).write_text(text, encoding="utf-8")
            _move(draft, folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        _remove_old(versions, folder)
    elif (folder / _WARNINGS).is_file():
        lines = (folder / _WARNINGS).read_text(encoding="utf-8").splitlines()
        warnings = [_skipped(line) for line in lines]
    return folder, tuple(warnings)


_WARNINGS = ".left_out"


def _move(draft: Path, folder: Path) -> None:
    """Move the files into place, unless another review has already written the same files."""
    with contextlib.suppress(OSError):
        draft.rename(folder)
    if not folder.is_dir():
        draft.rename(folder)


def _remove_old(versions: Path, newest: Path) -> None:
    """Remove all but the most recent versions."""
    with contextlib.suppress(OSError):
        others = [
            version
            for version in versions.iterdir()
            if version != newest and not version.name.startswith(".")
        ]
        for old in sorted(others, key=lambda version: version.stat().st_mtime, reverse=True)[
            _MOST_VERSIONS - 1 :
        ]:
            shutil.rmtree(old, ignore_errors=True)


def _write(repository: GitRepository, commit: Commit, folder: Path) -> list[Diagnostic]:
    """Write the settings, which name the folders, then the files in these."""
    prefix = repository.prefix
    _write_files(repository, commit, folder, [f"{prefix}{name}" for name in _SINGLE])
    if not (folder / SETTINGS).is_file():
        message = f"{commit.name} has no {prefix}{SETTINGS}: the project did not exist yet"
        raise MillstreamError(Diagnostic("MS722", message, None, "compare with a version that has it"))
    try:
        settings, _ = read_settings(folder)
    except MillstreamError as error:
        message = f"{commit.name} has no project yet: {error.diagnostics[0].message}"
        remedy = "compare with a version that has it"
        raise MillstreamError(Diagnostic("MS722", message, None, remedy)) from None
    folders = _inside(prefix, (*settings.folders, *settings.schema_paths))
    warnings = _write_files(repository, commit, folder, folders)
    read: set[Path] = set()
    reached: set[str] = set()
    while modules := set(folder.rglob("*.py")) - read:
        read |= modules
        paths = {path for module in modules for path in paths_reached(folder, module)} - reached
        reached |= paths
        warnings += _write_files(repository, commit, folder, _inside(prefix, paths), alone=True)
    return warnings


def _inside(prefix: str, paths: Iterable[str]) -> list[str]:
    """Return the paths in the repository of those in the project, without those outside of it."""
    normal = [posixpath.normpath(f"{prefix}{path}") for path in paths]
    return [
        path for path in normal if path != "." and not path.startswith(("..", "/")) and path.isprintable()
    ]


def _write_files(
    repository: GitRepository, commit: Commit, folder: Path, paths: Iterable[str], *, alone: bool = False
) -> list[Diagnostic]:
    """Write the files below some paths that a project is loaded from; or `alone` those with these paths."""
    warnings: list[Diagnostic] = []
    files: dict[str, str] = {}
    """Blobs by path within the repository."""
    entries = list_files(repository, commit, paths) if paths else []
    waiting = [(entry, entry.path, 0) for entry in entries if not alone or entry.path in paths]
    while waiting:
        links = [link for link in waiting if link[0].is_link]
        for entry, path, _ in waiting:
            if entry.is_submodule:
                message = f"the submodule {path} is skipped: its files are in a separate repository"
                warnings.append(_skipped(message))
            elif not entry.is_link and (alone or path.endswith(_SUFFIXES)):
                files[path] = entry.blob
        waiting = _follow(repository, commit, links, warnings)
    contents = read_blobs(repository, files.values())
    for path, blob in files.items():
        file = folder / os.path.relpath(path, repository.prefix or ".")
        if not file.resolve().is_relative_to(folder.resolve()):
            continue  # outside of the project
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents[blob])
    return warnings


def _follow(
    repository: GitRepository,
    commit: Commit,
    links: list[tuple[TreeEntry, str, int]],
    warnings: list[Diagnostic],
) -> list[tuple[TreeEntry, str, int]]:
    """Return the files that links within the repository point to, under the names of the links."""
    files: list[tuple[TreeEntry, str, int]] = []
    targets = read_blobs(repository, (entry.blob for entry, _, _ in links))
    for entry, path, depth in links:
        target = os.fsdecode(targets[entry.blob])
        end = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), target))
        if depth >= _DEPTH or end.startswith(("../", "/")) or end in {".", ".."}:
            warnings.append(_skipped(f"the link {path} is skipped: it points outside of the repository"))
            continue
        files += [
            (file, path + file.path[len(end) :], depth + 1) for file in list_files(repository, commit, [end])
        ]
    return files


def _skipped(message: str) -> Diagnostic:
    remedy = "its files are treated as missing; to compare them, commit the files themselves"
    return Diagnostic("MS724", message, None, remedy, severity="warning")
