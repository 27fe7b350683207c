"""Makes the archive of Spark's classes while commands run: it neither holds them up nor outlives them.

To write an archive, a JVM stops all its threads, for 15 seconds or more. So a second JVM does, at a low
priority, and is killed if the command ends earlier. Spark's JVM writes the names of its classes to a file;
the second one reads it. It makes a small archive of what Spark loads first, and then one of all. Until that
is complete, the names are kept, and the next command goes on with them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Event, Thread
from typing import Any

from pyspark.sql import SparkSession

from millstream.machine.archive import Archive, drop, keep, unwritten
from millstream.machine.environment import for_java
from millstream.machine.java import java
from millstream.machine.locks import opened, try_lock

_SHELL = ("/bin/sh", "-c")
_UNNOTICED = """
trap "" INT TERM HUP
[ -w /proc/$$/oom_score_adj ] && echo 1000 > /proc/$$/oom_score_adj
exec nice -n 10 "$0" "$@"
"""
"""A script for a command that nobody should notice.

It gets no signals of a terminal, little of the CPU if others need that, and is the first to end if there is
no memory left. It stays in the session of Millstream's command: between sessions, Linux shares the CPU out
equally.
"""
_ENDING = """trap "" INT TERM HUP; read -r _; kill -9 "$0\""""
"""A script that kills a process once its standard input ends, even if the command was killed."""
_PROGRAM = "millstream.spark.ClassLoading"
_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xlog:disable")
_OF_MODULES = ("--add-", "--enable-")
_FIRST = 9_000
"""The classes of a small archive, which takes 14 seconds of CPU; one of all takes 35."""
_ALL = 1_000_000


class ArchiveMaker:
    """Makes archives while a command runs."""

    def __init__(self, found: Archive) -> None:
        self._name = found.name
        self._sizes = (_ALL,) if found.file else (_FIRST, _ALL)
        self._known = _names(found)
        self._is_new = not self._known.exists()
        self._names = Path(f"{unwritten(found.name).written}.classes") if self._is_new else self._known
        self._process: Popen[bytes] | None = None
        self._stopped = Event()
        self.is_complete = False
        self._thread = Thread(target=lambda: None)

    @property
    def option(self) -> str:
        """The option for Spark's JVM to write names, if none are known."""
        return f"-XX:DumpLoadedClassList={self._names}" if self._is_new else ""

    def start(self, spark: SparkSession) -> None:
        """Start the second JVM, with the class path of Spark's."""
        jvm: Any = spark._jvm  # noqa: SLF001 -- there is no public way to the JVM
        path = jvm.java.lang.System.getProperty("java.class.path")
        given = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
        modules = [each for each in given if each.startswith(_OF_MODULES)]
        command = [str(java().program), "-cp", path, *_OPTIONS, *modules]
        self._thread = Thread(target=self._make, args=(command,), name="class archive", daemon=True)
        self._thread.start()

    def _make(self, command: Sequence[str]) -> None:
        # A machine that can start no more processes has no archive.
        with contextlib.suppress(OSError):
            self.is_complete = all(self._make_one(command, size) for size in self._sizes)

    def _make_one(self, command: Sequence[str], size: int) -> bool:
        archive = unwritten(self._name)
        program = [_PROGRAM, str(self._names), str(size), *(["grows"] if self._is_new else [])]
        with _ending_with_command([*command, archive.flag, *program]) as self._process:
            made = not self._stopped.is_set() and self._process.wait() == 0
        (keep if made else drop)(archive)
        return made

    def stop(self, *, complete: bool) -> None:
        """Stop the second JVM; keep the names, if they are `complete`, until all are in an archive."""
        self._stopped.set()
        if self._process:
            self._process.kill()
        if self._thread.ident is not None:
            self._thread.join()
        with contextlib.suppress(OSError):
            if self.is_complete or not complete:
                self._names.unlink()
            else:
                self._names.replace(self._known)


@contextmanager
def archive_maker(found: Archive | None) -> Iterator[ArchiveMaker | None]:
    """Yield what makes the archive, unless this machine has it, or another command is making it."""
    if found is None or (found.file and not _names(found).exists()):
        yield None
        return
    with ExitStack() as open_files:
        try:
            handle = open_files.enter_context(opened(Path(f"{found.name}.lock")))
            alone = try_lock(handle)
        except OSError:
            alone = False
        yield ArchiveMaker(found) if alone else None


def class_options(found: Archive | None, maker: ArchiveMaker | None) -> str:
    """Return Java's options for Spark's JVM: to read an archive, or to write the names of its classes."""
    if found and found.file:
        return _quoted(found.flag)
    return _quoted(maker.option) if maker and maker.option else ""


def _quoted(option: str) -> str:
    """Return an option as Spark's launcher reads it, which splits options at spaces."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _names(archive: Archive) -> Path:
    """Return the file that has the names of all classes, until these are in an archive."""
    return Path(f"{archive.name}.classes")


@contextmanager
def _ending_with_command(command: Sequence[str]) -> Iterator[Popen[bytes]]:
    """Start a process, and kill it in the end."""
    quiet: dict[str, Any] = {"env": for_java(os.environ), "stdout": DEVNULL, "stderr": DEVNULL}
    with Popen([*_SHELL, _UNNOTICED, *command], stdin=DEVNULL, **quiet) as process:  # noqa: S603
        try:
            with Popen([*_SHELL, _ENDING, str(process.pid)], stdin=PIPE, **quiet) as watch:  # noqa: S603
                try:
                    yield process
                finally:
                    watch.kill()
        finally:
            process.kill()
