"""Files of caches, which are replaced atomically: safe with parallel runs and kills.

A file that can't be read, or is from another version, or is damaged, is ignored.
"""

import contextlib
import hashlib
import sys
import zlib
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from millstream import __version__
from millstream.core.atomic import replace_file
from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.project.files import open_regular

FORMAT = f"{__version__}-15-py{sys.version_info.major}.{sys.version_info.minor}"
COMPILED = "cache/compile.msgpack"
"""The cache of the last compile, in the folder of results."""
S = TypeVar("S")
_CHECKSUM = 4
"""Bytes at the start of each file."""


def read_file(path: Path, type_: type[S]) -> S | None:
    """Return the decoded contents of a file; None if it can't be read."""
    try:
        with open_regular(path) as file:
            checksum, content = file.read(_CHECKSUM), file.readall()
        return from_msgpack(content, type_) if checksum == _checksum(content) else None
    except (OSError, msgspec.DecodeError, ValueError):
        return None


class _Files(Struct, frozen=True):
    """The part of the last compile's cache that is needed to load a project."""

    format: str
    files: dict[str, bytes]


def cached_files(target: Path) -> dict[str, bytes]:
    """Return the contents of YAML, Python and CSV files as the last compile read them, by path and digest."""
    cached = read_file(target / COMPILED, _Files)
    return cached.files if cached and cached.format == FORMAT else {}


def write_file(path: Path, value: Struct) -> None:
    """Replace a file atomically, readable only by its owner, since options may contain confidential values.

    If the folder is not writable, the next command is only slower.
    """
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        content = to_msgpack(value)
        replace_file(path, _checksum(content) + content)


def _checksum(content: bytes) -> bytes:
    """Return what detects a damaged file: decoded, a flipped bit could be a different project."""
    return zlib.crc32(content).to_bytes(_CHECKSUM, "big")


def digest_of(*parts: object) -> str:
    """Return a digest of values that msgspec can encode, in a fixed order."""
    encoded = msgspec.msgpack.encode(parts, enc_hook=str, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()
