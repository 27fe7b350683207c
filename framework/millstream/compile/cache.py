"""The cache of the last compile, in one file that is replaced atomically: safe with parallel runs and kills.

An entry has digests of its inputs, and is only used if all of them are the same. A file that can't be read,
or is from another version, or is damaged, is ignored.
"""

import contextlib
import hashlib
import sys
import zlib
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from millstream import __version__
from millstream.atomic import replace_file
from millstream.decoding import from_msgpack
from millstream.errors import Diagnostic
from millstream.manifest import ManifestNode
from millstream.plan.traits import Traits
from millstream.project.files import open_regular
from millstream.project.values import Reference, Uses
from millstream.sql.values import InputRelation

FORMAT = f"{__version__}-11-py{sys.version_info.major}.{sys.version_info.minor}"


class Entry(Struct, frozen=True):
    """One model without errors, with the digests of its inputs."""

    rendered_from: str
    made_from: str
    uses: Uses
    references: tuple[Reference, ...]
    config: dict[str, Any]
    sql: str
    relation: InputRelation
    node: ManifestNode
    spec: bytes = b""
    """An encoded `ModelSpec`, only decoded to build a plan."""
    traits: Traits | None = None
    warnings: tuple[Diagnostic, ...] = ()


class Cache(Struct, frozen=True):
    format: str = FORMAT
    models: dict[str, Entry] = {}
    files: dict[str, bytes] = {}
    """The contents of YAML, Python and CSV files, by kind, path and digest."""


class Memo(dict[str, bytes]):
    """Cached file contents; `used` has those that this compile needed, which are kept."""

    def __init__(self, known: dict[str, bytes]) -> None:
        super().__init__(known)
        self.used: dict[str, bytes] = {}

    def get(self, key: str, default: Any = None) -> Any:
        found = super().get(key, default)
        if found is not None:
            self.used[key] = found
        return found

    def __setitem__(self, key: str, value: bytes) -> None:
        super().__setitem__(key, value)
        self.used[key] = value


_FILE = "cache/compile.msgpack"


def read_cache(target: Path) -> Cache:
    found = read_file(target / _FILE, Cache)
    return found if found and found.format == FORMAT else Cache()


def write_cache(target: Path, cache: Cache) -> None:
    write_file(target / _FILE, cache)


S = TypeVar("S")
_CHECKSUM = 4
"""Bytes at the start of each file."""


def read_file(path: Path, wanted: type[S]) -> S | None:
    """Return the decoded contents of a file; None if it can't be read."""
    try:
        with open_regular(path) as file:
            checksum, content = file.read(_CHECKSUM), file.readall()
        return from_msgpack(content, wanted) if checksum == _checksum(content) else None
    except (OSError, msgspec.DecodeError, ValueError):
        return None


def write_file(path: Path, value: Struct) -> None:
    """Replace a file atomically, readable only by its owner, since options may contain confidential values.

    If the folder is not writable, the next command is only slower.
    """
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        content = msgspec.msgpack.encode(value)
        replace_file(path, _checksum(content) + content)


def _checksum(content: bytes) -> bytes:
    """Return what detects a damaged file: decoded, a flipped bit could be a different project."""
    return zlib.crc32(content).to_bytes(_CHECKSUM, "big")


def digest_of(*parts: object) -> str:
    """Return a digest of values that msgspec can encode, in a fixed order."""
    encoded = msgspec.msgpack.encode(parts, enc_hook=str, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()
