"""Reads a version of a repository from git's objects, without reading or changing the working tree."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.local.environment import for_git

_LINK, _SUBMODULE = "120000", "160000"
_LONGEST = 300


class GitRepository(Struct, frozen=True):
    folder: Path
    prefix: str
    """The project's folder within the repository, with a trailing `/`; empty for the root."""


class Commit(Struct, frozen=True):
    name: str
    """The name that the user gave."""
    id: str

    @property
    def short(self) -> str:
        return self.id[:10]


class TreeEntry(NamedTuple):
    """A file in a git tree."""

    mode: str
    blob: str
    path: str
    """Relative to the repository."""

    @property
    def is_link(self) -> bool:
        return self.mode == _LINK

    @property
    def is_submodule(self) -> bool:
        return self.mode == _SUBMODULE


def find_repository(root: Path) -> GitRepository:
    """Return the innermost repository that contains the project."""
    result = _git(root, "rev-parse", "--show-toplevel", "--show-prefix")
    if result.returncode:
        raise MillstreamError(_no_repository(root, _error_text(result)))
    top, prefix = result.stdout.decode().split("\n")[:2]
    return GitRepository(Path(top), prefix)


def _no_repository(root: Path, result: str) -> Diagnostic:
    if "dubious ownership" in result:
        remedy = f"if you trust it: git config --global --add safe.directory {root.resolve()}"
        return Diagnostic("MS720", "git refuses to read a repository of another owner", None, remedy)
    remedy = "compare with a manifest instead: --against-manifest FILE"
    return Diagnostic("MS720", "the project is not in a git repository", None, remedy)


def find_commit(repository: GitRepository, name: str, *, merge_base: bool = False) -> Commit:
    """Return the commit of a branch, tag or id; with `merge_base`, its last common commit with HEAD."""
    # git does not treat what follows --end-of-options as an option, even if it starts with a dash.
    result = _ask(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if result.returncode:
        raise MillstreamError(_unknown(repository, name))
    commit_id = result.stdout.decode().strip()
    if merge_base:
        base = _ask(repository, "merge-base", commit_id, "HEAD")
        if base.returncode:
            raise MillstreamError(_unrelated(repository, name))
        commit_id = base.stdout.decode().strip()
    return Commit(name, commit_id)


def main_branch(repository: GitRepository) -> str:
    """Return the branch that others are merged into: the remote's default branch, or `main` or `master`."""
    head = _ask(repository, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    names = [head.stdout.decode().strip()] if not head.returncode else []
    for name in (*names, "origin/main", "origin/master", "main", "master"):
        if not _ask(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").returncode:
            return name
    message = "there is no origin/HEAD, main or master to compare with"
    remedy = "name a branch, tag or commit: --against REF"
    raise MillstreamError(Diagnostic("MS721", message, None, remedy))


def missing_commits(repository: GitRepository, commit: Commit) -> int:
    """Return how many commits of a version HEAD lacks; 0 in a shallow clone."""
    if is_shallow(repository):
        return 0
    result = _ask(repository, "rev-list", "--count", f"HEAD..{commit.id}")
    return int(result.stdout) if not result.returncode else 0


def is_shallow(repository: GitRepository) -> bool:
    return _ask(repository, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def _unknown(repository: GitRepository, name: str) -> Diagnostic:
    refs = _ask(repository, "for-each-ref", "--format=%(refname:short)").stdout.decode().split()
    remote = next((ref for ref in refs if ref.endswith(f"/{name}")), None)
    # Where a name starts with a dash or has a blank, git or the shell would see something else.
    plain = re.fullmatch(r"\w[\w./+@-]*", name) is not None
    named = name if plain else "BRANCH"
    fetch = f"git fetch --depth=1 origin {named}, then compare with FETCH_HEAD"
    if remote:
        remedy = f"did you mean '{remote}'?"
    elif is_shallow(repository):
        return Diagnostic("MS721", f"this shallow clone does not have '{name}'", None, fetch)
    else:
        remedy = did_you_mean(name, refs, f"if it is on the server: {fetch}")
    return Diagnostic("MS721", f"there is no branch, tag or commit '{name}'", None, remedy)


def _unrelated(repository: GitRepository, name: str) -> Diagnostic:
    if is_shallow(repository):
        remedy = "git fetch --unshallow, or omit --merge-base to compare with the commit itself"
        message = f"this shallow clone has no common commit with '{name}'"
        return Diagnostic("MS721", message, None, remedy)
    remedy = "omit --merge-base"
    return Diagnostic("MS721", f"'{name}' and HEAD have no commit in common", None, remedy)


def tree_of(repository: GitRepository, commit: Commit) -> str:
    """Return the tree id of a version; equal ids mean equal files."""
    return _read(repository, "rev-parse", "--verify", f"{commit.id}^{{tree}}").decode().strip()


def list_files(repository: GitRepository, commit: Commit, paths: Iterable[str]) -> list[TreeEntry]:
    """Return the files below some paths, which are relative to the repository."""
    arguments = ("ls-tree", "-r", "-z", "--full-tree", commit.id, "--", *sorted(set(paths)))
    entries: list[TreeEntry] = []
    for line in filter(None, _read(repository, *arguments).split(b"\0")):
        metadata, _, path = line.partition(b"\t")
        mode, _, blob = metadata.decode().split()
        entries.append(TreeEntry(mode, blob, os.fsdecode(path)))
    return entries


def read_blobs(repository: GitRepository, blobs: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of files, read by one process."""
    ids = sorted(set(blobs))
    if not ids:
        return {}
    contents: dict[str, bytes] = {}
    data = _read(repository, "cat-file", "--batch", input_bytes="".join(f"{id_}\n" for id_ in ids).encode())
    position = 0
    for blob in ids:
        end = data.index(b"\n", position)
        header = data[position:end].split()
        if len(header) < 3:  # `<id> missing`
            remedy = "git fetch --unshallow, or git fetch --refetch in a partial clone"
            raise MillstreamError(Diagnostic("MS723", "the clone lacks files of that version", None, remedy))
        size = int(header[2])
        contents[blob] = data[end + 1 : end + 1 + size]
        position = end + 1 + size + 1
    return contents


def _read(repository: GitRepository, *arguments: str, input_bytes: bytes | None = None) -> bytes:
    """Return what git writes, which must not fail."""
    result = _git(repository.folder, *arguments, input_bytes=input_bytes)
    if result.returncode:
        remedy = "check the repository, or compare with a manifest instead: --against-manifest FILE"
        raise MillstreamError(Diagnostic("MS723", f"git failed: {_error_text(result)}", None, remedy))
    return result.stdout


def _ask(repository: GitRepository, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return _git(repository.folder, *arguments)


def _git(
    folder: Path, *arguments: str, input_bytes: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    # Paths are literal, git takes no locks, and its messages are in English.
    settings = {"GIT_LITERAL_PATHSPECS": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603 - arguments are a list, and no shell reads them
            ["git", *arguments],  # noqa: S607 - the git that the user has
            cwd=folder,
            env=for_git(os.environ) | settings,
            input=input_bytes,
            stdin=subprocess.DEVNULL if input_bytes is None else None,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        remedy = "install git, or compare with a manifest instead: --against-manifest FILE"
        raise MillstreamError(Diagnostic("MS720", "git is not installed", None, remedy)) from None


def _error_text(result: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(result.stderr.decode(errors="replace").split())[:_LONGEST]
