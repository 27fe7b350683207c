"""Archives of loaded classes (Java's AppCDS): a JVM that maps one starts in half the time and CPU.

A JVM writes one when it ends. It gets its name only when it is known to be whole and of use; the JVM itself
checks that version and class path are those it was made with, and runs without it otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from millstream.machine.jars import cache_folder
from millstream.machine.java import Java

_UNUSED = 30 * 86_400.0
_LONGEST = 3_600.0
"""Seconds after which nobody writes to an archive any more: its JVM was killed."""
_PREFIX = ".writing-"


class Archive(Struct, frozen=True):
    """`file` is read where there is one; else the JVM writes to `written`."""

    name: str
    """The path without size and suffix."""
    file: str = ""
    written: str = ""

    @property
    def flag(self) -> str:
        if self.written:
            return f"-XX:ArchiveClassesAtExit={self.written}"
        return f"-XX:SharedArchiveFile={self.file}"


def archive_for(name: str, java: Java, jars: Sequence[Path]) -> Archive | None:
    """Return the archive of a program: what is kept for this Java and class path, or one to be made."""
    folder = cache_folder() / "archives"
    made_of = "\n".join((java.version, str(java.program.resolve()), *map(str, jars)))
    base = folder / f"{name}-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"
    try:
        for file in folder.glob(f"{base.name}-*.jsa"):
            # A JVM crashes on an archive that was cut short.
            if file.stem.rpartition("-")[2] == str(file.stat().st_size):
                return Archive(str(base), file=str(file))
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return Archive(str(base), written=str(folder / f"{_PREFIX}{secrets.token_hex(8)}"))


def keep(archive: Archive) -> None:
    """Give what a JVM wrote its name; the archives of a Java that is long gone make room for it."""
    written = Path(archive.written)
    with contextlib.suppress(OSError):
        file = Path(f"{archive.name}-{written.stat().st_size}.jsa")
        written.replace(file)
        for other in file.parent.iterdir():
            twin = other.name.startswith(f"{Path(archive.name).name}-")
            old = _LONGEST if other.name.startswith(_PREFIX) else _UNUSED
            if other != file and (twin or time.time() - other.stat().st_mtime > old):
                other.unlink()


def drop(archive: Archive, *, used: bool = False) -> None:
    """Remove what was written and not kept; with `used`, also an archive that a JVM stumbled over."""
    for file in filter(None, (archive.written, archive.file if used else "")):
        with contextlib.suppress(OSError):
            Path(file).unlink()
