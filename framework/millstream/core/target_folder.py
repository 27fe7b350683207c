"""The folder of results.

A file marks a folder that Millstream created. In no other folder does a command write or remove files.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from millstream.core.atomic import replace_file
from millstream.core.errors import Diagnostic, MillstreamError

MARKER = ".millstream-target"
_EXPLAINED = b"Millstream created this folder. `millstream clean` removes it.\n"
_CACHES = ("cache/compile.msgpack", "cache/snapshot.msgpack")
_ALLOWED = frozenset({".gitignore", ".gitkeep", "run_results.json"})
"""Files for git, and results of an earlier build that CI has restored."""
_SEARCHED = 200
"""Bytes at the start of a manifest that name its program."""


def claim_folder(root: Path, target_path: str) -> None:
    """Mark the folder of results; raise if it has files that Millstream did not write.

    A folder that can't be written to is reported when results are written: most commands only cache there.
    """
    folder = root / target_path
    if (folder / MARKER).is_file() or (folder.exists() and not folder.is_dir()):
        return
    if not is_own(folder) and (foreign := _foreign_file(folder)):
        message = f"{target_path}/ has files that Millstream did not write, such as {foreign}"
        remedy = "set target-path in [tool.millstream] to a new folder, or empty this one"
        raise MillstreamError(Diagnostic("MS710", message, None, remedy))
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / MARKER, _EXPLAINED, mode=0o644)


def is_own(folder: Path) -> bool:
    """Return whether Millstream created a folder, also before it marked folders."""
    if (folder / MARKER).is_file() or any((folder / name).is_file() for name in _CACHES):
        return True
    try:
        with (folder / "manifest.json").open("rb") as file:
            return b'"millstream_version"' in file.read(_SEARCHED)
    except OSError:
        return False


def _foreign_file(folder: Path) -> str:
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return ""
    # Another command may be writing the marker.
    return next((name for name in names if name not in _ALLOWED and not name.startswith(f".{MARKER}")), "")


def is_below(path: Path, folder: Path) -> bool:
    """Return whether a path is really below a folder: a link inside it may lead elsewhere."""
    return path.resolve().is_relative_to(folder.resolve())
