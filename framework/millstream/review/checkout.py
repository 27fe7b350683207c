"""A project's files of another version, in a folder of their own, where they are compiled like any project's.

Only what a compile reads is written. The folder is named by git's id of the tree, so that it is there the
next time, with the caches of its compile. It is below one whose name begins with a dot: no tool looks for
tests there.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from millstream.errors import Diagnostic, MillstreamError
from millstream.project.load import SUFFIXES
from millstream.project.profiles import FILE as PROFILES
from millstream.project.settings import FILE as SETTINGS
from millstream.project.settings import read_settings
from millstream.review.git import Commit, Entry, Repository, list_files, read_blobs, tree_of

_SINGLE = (SETTINGS, PROFILES, "selectors.yml")
_KEPT = 3
_DEPTH = 8
"""Links that lead to links."""


def checked_out(
    repository: Repository, commit: Commit, versions: Path
) -> tuple[Path, tuple[Diagnostic, ...]]:
    """Return the folder of a version below `versions`, and what of it could not be had."""
    folder = versions / tree_of(repository, commit)
    left_out: list[Diagnostic] = []
    if not folder.is_dir():
        versions.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=versions, prefix=".draft-"))
        try:
            left_out = _write(repository, commit, draft)
            if left_out:
                _told(draft).write_text("\n".join(each.message for each in left_out), encoding="utf-8")
            _put(draft, folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        _forget(versions, folder)
    elif _told(folder).is_file():
        left_out = [_left_out(line) for line in _told(folder).read_text(encoding="utf-8").splitlines()]
    return folder, tuple(left_out)


def _told(folder: Path) -> Path:
    return folder / ".left_out"


def _put(draft: Path, folder: Path) -> None:
    """Another review may have been quicker; its files are the same."""
    with contextlib.suppress(OSError):
        draft.rename(folder)
    if not folder.is_dir():
        draft.rename(folder)


def _forget(versions: Path, newest: Path) -> None:
    """Keep the versions that were made last."""
    with contextlib.suppress(OSError):
        others = [each for each in versions.iterdir() if each != newest and not each.name.startswith(".")]
        for old in sorted(others, key=lambda each: each.stat().st_mtime, reverse=True)[_KEPT - 1 :]:
            shutil.rmtree(old, ignore_errors=True)


def _write(repository: Repository, commit: Commit, folder: Path) -> list[Diagnostic]:
    """Write first what says where the rest is."""
    prefix = repository.prefix
    _write_files(repository, commit, folder, [f"{prefix}{name}" for name in _SINGLE])
    if not (folder / SETTINGS).is_file():
        message = f"{commit.name} has no {prefix}{SETTINGS}: the project was not there yet"
        raise MillstreamError(Diagnostic("MS722", message, None, "compare with a version that has it"))
    try:
        settings, _ = read_settings(folder)
    except MillstreamError as error:
        message = f"{commit.name} has no project yet: {error.diagnostics[0].message}"
        remedy = "compare with a version that has it"
        raise MillstreamError(Diagnostic("MS722", message, None, remedy)) from None
    wanted = [posixpath.normpath(f"{prefix}{path}") for path in settings.folders]
    inside = [path for path in wanted if not path.startswith(("..", "/"))]
    return _write_files(repository, commit, folder, inside)


def _write_files(
    repository: Repository, commit: Commit, folder: Path, paths: Iterable[str]
) -> list[Diagnostic]:
    left_out: list[Diagnostic] = []
    files: dict[str, str] = {}
    """By path within the repository, the blob."""
    waiting = [(entry, entry.path, 0) for entry in list_files(repository, commit, paths)]
    while waiting:
        links = [each for each in waiting if each[0].is_link]
        for entry, path, _ in waiting:
            if entry.is_submodule:
                message = f"the submodule {path} is left out: its files are in a repository of its own"
                left_out.append(_left_out(message))
            elif not entry.is_link and path.endswith((*SUFFIXES, ".toml")):
                files[path] = entry.blob
        waiting = _followed(repository, commit, links, left_out)
    contents = read_blobs(repository, files.values())
    for path, blob in files.items():
        file = folder / os.path.relpath(path, repository.prefix or ".")
        if not file.resolve().is_relative_to(folder.resolve()):
            continue  # of a folder beside the project, which nobody may write into
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents[blob])
    return left_out


def _followed(
    repository: Repository,
    commit: Commit,
    links: list[tuple[Entry, str, int]],
    left_out: list[Diagnostic],
) -> list[tuple[Entry, str, int]]:
    """Return what links lead to, under the names of the links: within the repository, and nowhere else."""
    found: list[tuple[Entry, str, int]] = []
    targets = read_blobs(repository, (entry.blob for entry, _, _ in links))
    for entry, path, depth in links:
        target = os.fsdecode(targets[entry.blob])
        end = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), target))
        if depth >= _DEPTH or end.startswith(("../", "/")) or end in {".", ".."}:
            left_out.append(_left_out(f"the link {path} is left out: it leads out of the repository"))
            continue
        found += [
            (each, path + each.path[len(end) :], depth + 1) for each in list_files(repository, commit, [end])
        ]
    return found


def _left_out(message: str) -> Diagnostic:
    remedy = "what it holds is compared as if it were not there"
    return Diagnostic("MS724", message, None, remedy, severity="warning")
