"""A version of a repository, read from git's objects: the working tree is neither looked at nor touched."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from millstream.errors import Diagnostic, MillstreamError, did_you_mean

_LINK, _SUBMODULE = "120000", "160000"
_SAID = 300


class Repository(Struct, frozen=True):
    """Where a project stands in a repository."""

    folder: Path
    prefix: str
    """The project's folder within the repository, with a `/` at its end; empty at its root."""


class Commit(Struct, frozen=True):
    name: str
    """What the user calls it."""
    id: str

    @property
    def short(self) -> str:
        return self.id[:10]


class Entry(NamedTuple):
    """A file of a tree."""

    mode: str
    blob: str
    path: str
    """Within the repository."""

    @property
    def is_link(self) -> bool:
        return self.mode == _LINK

    @property
    def is_submodule(self) -> bool:
        return self.mode == _SUBMODULE


def find_repository(root: Path) -> Repository:
    """Return the repository that a project is in: the innermost, where one is within another."""
    said = _git(root, "rev-parse", "--show-toplevel", "--show-prefix")
    if said.returncode:
        raise MillstreamError(_no_repository(root, _words(said)))
    top, prefix = said.stdout.decode().split("\n")[:2]
    return Repository(Path(top), prefix)


def _no_repository(root: Path, said: str) -> Diagnostic:
    if "dubious ownership" in said:
        remedy = f"if you trust it: git config --global --add safe.directory {root.resolve()}"
        return Diagnostic("MS720", "git does not read a repository that somebody else owns", None, remedy)
    remedy = "compare with a manifest instead: --against-manifest FILE"
    return Diagnostic("MS720", "the project is in no git repository", None, remedy)


def find_commit(repository: Repository, name: str, *, where_it_left: bool = False) -> Commit:
    """Return the commit of a branch, tag or id; `where_it_left`: the last one that HEAD has in common."""
    # Whatever follows --end-of-options is no option, however it begins.
    said = _ask(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if said.returncode:
        raise MillstreamError(_unknown(repository, name))
    found = said.stdout.decode().strip()
    if where_it_left:
        base = _ask(repository, "merge-base", found, "HEAD")
        if base.returncode:
            raise MillstreamError(_unrelated(repository, name))
        found = base.stdout.decode().strip()
    return Commit(name, found)


def commits_apart(repository: Repository, commit: Commit) -> int:
    """Return how many commits of a version HEAD does not have; 0 where the history is not all there."""
    if is_shallow(repository):
        return 0
    said = _ask(repository, "rev-list", "--count", f"HEAD..{commit.id}")
    return int(said.stdout) if not said.returncode else 0


def is_shallow(repository: Repository) -> bool:
    return _ask(repository, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def _unknown(repository: Repository, name: str) -> Diagnostic:
    listed = _ask(repository, "for-each-ref", "--format=%(refname:short)").stdout.decode().split()
    remote = next((each for each in listed if each.endswith(f"/{name}")), None)
    fetch = f"git fetch --depth=1 origin {name}, and compare with FETCH_HEAD"
    if remote:
        remedy = f"did you mean '{remote}'?"
    elif is_shallow(repository):
        return Diagnostic("MS721", f"this shallow clone does not have '{name}'", None, fetch)
    else:
        remedy = did_you_mean(name, listed, f"if it is on the server: {fetch}")
    return Diagnostic("MS721", f"git knows no branch, tag or commit '{name}'", None, remedy)


def _unrelated(repository: Repository, name: str) -> Diagnostic:
    if is_shallow(repository):
        remedy = "git fetch --unshallow, or compare with the commit itself: leave --merge-base out"
        return Diagnostic("MS721", f"this shallow clone ends before it meets '{name}'", None, remedy)
    remedy = "leave --merge-base out"
    return Diagnostic("MS721", f"'{name}' and HEAD have no commit in common", None, remedy)


def tree_of(repository: Repository, commit: Commit) -> str:
    """Return the id of all files of a version: equal ids, equal files."""
    said = _ask(repository, "rev-parse", "--verify", f"{commit.id}^{{tree}}")
    _check(said)
    return said.stdout.decode().strip()


def list_files(repository: Repository, commit: Commit, paths: Iterable[str]) -> list[Entry]:
    """Return the files below some paths, which are relative to the repository's folder."""
    wanted = sorted(set(paths))
    said = _ask(repository, "ls-tree", "-r", "-z", "--full-tree", commit.id, "--", *wanted)
    _check(said)
    found: list[Entry] = []
    for line in filter(None, said.stdout.split(b"\0")):
        about, _, path = line.partition(b"\t")
        mode, _, blob = about.decode().split()
        found.append(Entry(mode, blob, os.fsdecode(path)))
    return found


def read_blobs(repository: Repository, blobs: Iterable[str]) -> dict[str, bytes]:
    """Return the content of files, all in one process."""
    wanted = sorted(set(blobs))
    if not wanted:
        return {}
    said = _ask(repository, "cat-file", "--batch", given="".join(f"{each}\n" for each in wanted).encode())
    _check(said)
    found: dict[str, bytes] = {}
    at, data = 0, said.stdout
    for blob in wanted:
        end = data.index(b"\n", at)
        about = data[at:end].split()
        if len(about) < 3:  # `<id> missing`
            remedy = "git fetch --unshallow, or git fetch --refetch in a partial clone"
            raise MillstreamError(Diagnostic("MS723", "the clone lacks files of that version", None, remedy))
        size = int(about[2])
        found[blob] = data[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return found


def _check(said: subprocess.CompletedProcess[bytes]) -> None:
    if said.returncode:
        remedy = "look with git, or compare with a manifest instead: --against-manifest FILE"
        raise MillstreamError(Diagnostic("MS723", f"git can't read it: {_words(said)}", None, remedy))


def _ask(
    repository: Repository, *arguments: str, given: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    return _git(repository.folder, *arguments, given=given)


def _git(folder: Path, *arguments: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    # Paths are names and no patterns; git takes no lock, and its words are those that we know.
    settings = {"GIT_LITERAL_PATHSPECS": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603 - arguments are a list, and no shell reads them
            ["git", *arguments],  # noqa: S607 - the git that the user has
            cwd=folder,
            env=os.environ | settings,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        remedy = "install git, or compare with a manifest instead: --against-manifest FILE"
        raise MillstreamError(Diagnostic("MS720", "there is no git on this machine", None, remedy)) from None


def _words(said: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(said.stderr.decode(errors="replace").split())[:_SAID]
