"""Copies the project of a package, which may be read-only, to where commands write logs and results."""

from __future__ import annotations

import shutil
from pathlib import Path

from millstream.local.locks import open_lock, wait_for_lock

_WRITTEN = (".millstream", "target")
"""What commands write in a project's folder."""
_COPY = ".package"
"""The file that says of which package the copy is."""


def copy_project(package: Path, work: Path) -> Path:
    """Copy the project, unless it was copied before; its locks, logs and results stay."""
    root, identity = work / "project", (package / "SHA256SUMS").read_bytes()
    root.mkdir(parents=True, exist_ok=True)
    # Other commands may start at the same time, such as `lag` next to `run`.
    with open_lock(work / "start.lock") as handle:
        wait_for_lock(handle)
        marker = root / _COPY
        if not marker.is_file() or marker.read_bytes() != identity:
            marker.unlink(missing_ok=True)
            _replace(root, package / "project")
            marker.write_bytes(identity)
    return root


def _replace(root: Path, source: Path) -> None:
    for path in root.iterdir():
        if path.name in _WRITTEN:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    # The package's folders and files may be read-only; copies are not.
    for path in sorted(source.rglob("*")):
        copy = root / path.relative_to(source)
        if path.is_dir():
            copy.mkdir(exist_ok=True)
        else:
            shutil.copyfile(path, copy)
