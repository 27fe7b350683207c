"""The cache folder of jars, and checks of the jars in it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import platformdirs

from millstream.core.errors import Diagnostic, MillstreamError, os_reason
from millstream.local.jars.catalog import Jar

VARIABLE = "MILLSTREAM_CACHE_DIR"
_VERIFIED = 946_684_800
"""The modification time of a verified file. Writing or copying the file changes the time, so that it is
verified again. Reading size and time takes microseconds, unlike a checksum."""


def cache_folder() -> Path:
    return Path(os.environ.get(VARIABLE) or platformdirs.user_cache_dir("millstream", appauthor=False))


def jars_folder() -> Path:
    return cache_folder() / "jars"


def is_good(jar: Jar, file: Path, *, verify: bool = False) -> bool:
    """Whether the file is this jar; its checksum is only computed with `verify` or if the time changed."""
    try:
        stat = file.stat()
        if stat.st_size != jar.size:
            return False
        if not verify and stat.st_mtime == _VERIFIED:
            return True
        good = sha256_of(file) == jar.sha256
    except OSError:
        return False
    if good and stat.st_mtime != _VERIFIED:
        mark_verified(file)
    return good


def sha256_of(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def is_marked(file: Path) -> bool:
    """Whether a file was verified, and has not been written since."""
    try:
        return file.stat().st_mtime == _VERIFIED
    except OSError:
        return False


def mark_verified(file: Path) -> None:
    try:
        os.utime(file, (_VERIFIED, _VERIFIED))
    except OSError:
        # In a read-only cache, checksums are computed every time.
        return


def not_writable(folder: Path, error: OSError) -> MillstreamError:
    message = f"can't store jars in {folder}: {os_reason(error)}"
    remedy = f"free space in {folder} or make it writable, or set another folder with {VARIABLE}"
    return MillstreamError(Diagnostic("MS807", message, None, remedy))
