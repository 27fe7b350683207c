"""The archive of a server's classes: the server writes their names, and a later command makes it of these."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Thread

from millstream.machine.archive import Archive
from millstream.machine.archive_making import QUIET, SecondJvm, may_make
from millstream.machine.environment import for_java


def flags(archive: Archive | None) -> tuple[str, ...]:
    """Return Java's options for the server: to read its archive, or to write the names of its classes."""
    if archive and archive.file:
        return (archive.flag,)
    if archive and not archive.names.exists():
        return (f"-XX:DumpLoadedClassList={archive.new_names}",)
    return ()


def keep_names(archive: Archive | None, *, complete: bool) -> None:
    """Keep the names that a server has written, or remove them if they are not complete."""
    if archive and archive.written:
        with contextlib.suppress(OSError):
            if complete:
                archive.new_names.replace(archive.names)
            else:
                archive.new_names.unlink()


@contextmanager
def made_meanwhile(archive: Archive | None, command: Sequence[str]) -> Iterator[None]:
    """Make an archive in the block, if there is none and the names of its classes are known.

    The command is that of the server, without the server's own arguments.
    """
    if archive is None or archive.file or not archive.names.exists():
        yield
        return
    jvm = SecondJvm()
    with ExitStack() as lock:
        if not may_make(archive, lock):
            yield
            return
        thread = Thread(target=_make, args=(archive, command, jvm), name="class archive", daemon=True)
        thread.start()
        try:
            yield
        finally:
            jvm.stop()
            thread.join()


def _make(archive: Archive, command: Sequence[str], jvm: SecondJvm) -> None:
    options = (
        "-Xshare:dump",
        f"-XX:SharedClassListFile={archive.names}",
        f"-XX:SharedArchiveFile={archive.written}",
    )
    # A machine that can start no more processes has no archive.
    with contextlib.suppress(OSError):
        if jvm.makes(archive, [*command, *QUIET, *options], for_java(os.environ)):
            archive.names.unlink(missing_ok=True)
