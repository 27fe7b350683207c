"""Archives of loaded classes (Java's AppCDS): a JVM with one starts in half the time and CPU.

An archive gets its final name only when it is known to be complete and useful. The JVM itself checks that
version and class path match, and otherwise ignores the archive.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from millstream.local.jars import cache_folder
from millstream.local.java import JavaInstallation

_UNUSED = 30 * 86_400.0
_LONGEST = 3_600.0
"""Seconds after which an archive that is being written is abandoned, since its JVM was killed."""
_PREFIX = ".writing-"
NAMES = ".classes"
"""How files with the names of classes end."""


class Archive(Struct, frozen=True):
    """The JVM reads `file` if it is set, and otherwise writes to `written`."""

    name: str
    """The path without size and suffix."""
    file: str = ""
    written: str = ""

    @property
    def names(self) -> Path:
        """The file with the names of the classes that an earlier JVM loaded, until there is an archive."""
        return Path(f"{self.name}{NAMES}")

    @property
    def new_names(self) -> Path:
        """The file that a JVM writes the names of its classes to."""
        return Path(f"{self.written}{NAMES}")

    @property
    def flag(self) -> str:
        if self.written:
            return f"-XX:ArchiveClassesAtExit={self.written}"
        return f"-XX:SharedArchiveFile={self.file}"


def archive_for(name: str, java: JavaInstallation, jars: Sequence[Path]) -> Archive | None:
    """Return the archive of a program for this Java and class path, or one for the JVM to write."""
    folder = cache_folder() / "archives"
    program = java.program.resolve()
    inputs = "\n".join((java.version, str(program), _build(program), *map(str, jars)))
    base = folder / f"{name}-{hashlib.sha256(inputs.encode()).hexdigest()[:16]}"
    try:
        for file in folder.glob(f"{base.name}-*.jsa"):
            # A truncated archive crashes the JVM.
            if file.stem.rpartition("-")[2] == str(file.stat().st_size):
                return Archive(str(base), file=str(file))
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return None
    written = folder / f"{_PREFIX}{base.name}-{secrets.token_hex(8)}"
    return Archive(str(base), written=str(written))


def _build(program: Path) -> str:
    """Return what tells builds of one version of Java apart: a JVM ignores the archive of another one."""
    try:
        stat = program.parent.with_name("lib").joinpath("modules").stat()
    except OSError:
        return ""
    return f"{stat.st_size} {stat.st_mtime_ns}"


def keep_archive(archive: Archive) -> bool:
    """Give an archive its final name, and remove unused archives, such as those of an older Java.

    Return False if the JVM has written none, which its exit code does not say.
    """
    written = Path(archive.written)
    try:
        file = Path(f"{archive.name}-{written.stat().st_size}.jsa")
        written.replace(file)
    except OSError:
        return False
    with contextlib.suppress(OSError):
        for other in file.parent.iterdir():
            same_program = other.name.startswith(f"{Path(archive.name).name}-")
            # A server may write the names of its classes for days.
            begun = other.name.startswith(_PREFIX) and other.suffix != NAMES
            old = _LONGEST if begun else _UNUSED
            if other != file and (same_program or time.time() - other.stat().st_mtime > old):
                other.unlink()
    return True


def clear_archive(archive: Archive, *, complete: bool = False) -> None:
    """Remove what JVMs have begun to write, or, with `complete`, the archive; nothing may write it now."""
    name = Path(archive.name)
    with contextlib.suppress(OSError):
        for file in name.parent.glob(f"{name.name}-*.jsa" if complete else f"{_PREFIX}{name.name}-*"):
            file.unlink(missing_ok=True)


def drop_archive(archive: Archive, *, used: bool = False) -> None:
    """Remove an archive that is not kept; with `used`, also one that failed when a JVM read it."""
    for file in filter(None, (archive.written, archive.file if used else "")):
        with contextlib.suppress(OSError):
            Path(file).unlink()
