"""The folder that keeps jars, and whether one in it is whole."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import platformdirs

from millstream.errors import Diagnostic, MillstreamError
from millstream.machine.jars.catalog import Jar

VARIABLE = "MILLSTREAM_CACHE_DIR"
_VERIFIED = 946_684_800
"""The time of modification that a verified file is given. Whatever writes to the file or copies it changes
the time, so that it is verified anew; asking for size and time takes microseconds, a checksum does not."""


def cache_folder() -> Path:
    return Path(os.environ.get(VARIABLE) or platformdirs.user_cache_dir("millstream", appauthor=False))


def jars_folder() -> Path:
    return cache_folder() / "jars"


def is_good(jar: Jar, file: Path, *, whole: bool = False) -> bool:
    """Tell if the file is this jar; its bytes are read when asked for or where the time says so."""
    try:
        found = file.stat()
        if found.st_size != jar.size:
            return False
        if not whole and found.st_mtime == _VERIFIED:
            return True
        good = sha256_of(file) == jar.sha256
    except OSError:
        return False
    if good and found.st_mtime != _VERIFIED:
        mark_verified(file)
    return good


def sha256_of(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def mark_verified(file: Path) -> None:
    try:
        os.utime(file, (_VERIFIED, _VERIFIED))
    except OSError:
        # A cache that only others may write to is read whole each time.
        return


def not_writable(folder: Path, error: OSError) -> MillstreamError:
    reason = (error.strerror or str(error)).lower()
    remedy = f"make room in {folder} or make it writable, or name another folder with {VARIABLE}"
    return MillstreamError(Diagnostic("MS807", f"jars can't be kept in {folder}: {reason}", None, remedy))
