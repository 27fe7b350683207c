"""What the last compile found, in one file that is replaced as a whole: safe with parallel runs and kills.

An entry says what it was made from; it is used only where all of that is still the same. A file that can't be
read, or of another version, counts as none.
"""

import contextlib
import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from millstream import __version__
from millstream.project.templates import Reference, Uses
from millstream.sql.values import Analysis

FORMAT = f"{__version__}-1-py{sys.version_info.major}.{sys.version_info.minor}"


class Entry(Struct, frozen=True):
    """One model without mistakes, and the digests of what it was made from."""

    rendered_from: str
    analysed_from: str
    uses: Uses
    references: tuple[Reference, ...]
    config: dict[str, Any]
    sql: str
    analysis: Analysis


class Cache(Struct, frozen=True):
    format: str = FORMAT
    models: dict[str, Entry] = {}
    files: dict[str, bytes] = {}
    """What was read from YAML, Python and CSV files, by kind, path and digest."""


class Memo(dict[str, bytes]):
    """What was known of files, and of that what this compile used: only that is kept."""

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


_PATH = "cache/compile.msgpack"


def read_cache(target: Path) -> Cache:
    try:
        found = msgspec.msgpack.decode((target / _PATH).read_bytes(), type=Cache)
    except (OSError, msgspec.DecodeError, ValueError):
        return Cache()
    return found if found.format == FORMAT else Cache()


def write_cache(target: Path, cache: Cache) -> None:
    """Replace the cache; where the folder can't be written the next compile is slower, not wrong."""
    path = target / _PATH
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".compile-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.msgpack.encode(cache))
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def digest_of(*parts: object) -> str:
    """Return a digest of values that msgspec can write, in a fixed order."""
    encoded = msgspec.msgpack.encode(parts, enc_hook=str, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()
