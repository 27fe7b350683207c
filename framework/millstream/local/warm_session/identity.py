"""What a session is for: it must not run commands of another version, or of another environment of Python."""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_IMPORTED = ("PYTHON", "LC_", "OMP_", "OPENBLAS_", "MKL_", "ARROW_", "NUMEXPR_")
"""The environment that modules read while they are imported."""
_NAMES = frozenset({"LANG", "LANGUAGE", "TZ", "VIRTUAL_ENV"})
_PACKAGE = Path(__file__).parents[2]


def session_identity() -> str:
    """Return a digest of Python, the installed packages, Millstream's own files and what imports read."""
    environment = sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith(_IMPORTED) or name in _NAMES
    )
    parts = (sys.executable, sys.version, *environment, *_installed(), *_own_files(_PACKAGE))
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _installed() -> Iterator[str]:
    """Yield when a package was last installed or removed: its metadata are entries of these folders."""
    for name in ("purelib", "platlib"):
        folder = sysconfig.get_path(name)
        yield f"{folder} {Path(folder).stat().st_mtime_ns}"


def _own_files(folder: Path) -> Iterator[str]:
    for entry in os.scandir(folder):
        if entry.name.endswith(".py") or entry.is_dir(follow_symlinks=False):
            if entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _own_files(Path(entry.path))
            else:
                status = entry.stat()
                yield f"{entry.path} {status.st_mtime_ns} {status.st_size}"
