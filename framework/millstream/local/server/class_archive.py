"""The archive of a server's classes: the server writes their names, and a later command makes it of these."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from millstream.local.archive import Archive
from millstream.local.archive_threads import QUIET, SecondJvm, may_make, start_making
from millstream.local.environment import for_java

_MEMORY = 2 * 1024**3
"""What a machine has, at least, if a second JVM runs: it takes half a GB."""
_TRIES = 30
"""Many commands that use a server take only a few seconds."""


def archive_options(archive: Archive | None) -> tuple[str, ...]:
    """Return Java's options for the server: to read its archive, or to write the names of its classes."""
    if archive and archive.file:
        return (archive.flag,)
    if archive and not archive.names.exists():
        return (f"-XX:DumpLoadedClassList={archive.new_names}",)
    return ()


def keep_names(archive: Archive) -> None:
    """Keep the names that a server has written."""
    if archive.written:
        with contextlib.suppress(OSError):
            archive.new_names.replace(archive.names)


def drop_names(archive: Archive) -> None:
    """Remove the names that a server has written, if they are not complete."""
    if archive.written:
        with contextlib.suppress(OSError):
            archive.new_names.unlink()


@contextmanager
def archive_meanwhile(archive: Archive | None, jvm: Sequence[str]) -> Iterator[None]:
    """Make an archive in the block, if there is none and the names of its classes are known.

    `jvm` is the command of a JVM with the server's class path.
    """
    if archive is None or archive.file or not jvm or not archive.names.exists():
        yield
        return
    second = SecondJvm()
    with ExitStack() as lock:
        thread = None
        if may_make(archive, lock, memory=_MEMORY, tries=_TRIES):
            thread = start_making(_make, lock.pop_all(), archive, jvm, second)
        else:
            lock.close()
        try:
            yield
        finally:
            second.stop()
            if thread:
                thread.join()


def _make(lock: ExitStack, archive: Archive, jvm: Sequence[str], second: SecondJvm) -> None:
    names = f"-XX:SharedClassListFile={archive.names}"
    command = [*jvm, *QUIET, "-Xshare:dump", names, f"-XX:SharedArchiveFile={archive.written}"]
    # A machine that can start no more processes has no archive.
    with lock, contextlib.suppress(OSError):
        has_archive = second.makes(archive, command, for_java(os.environ))
        # Of names that it can't be made of, it can never be.
        if has_archive or not second.stopped:
            archive.names.unlink(missing_ok=True)
