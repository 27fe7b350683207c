"""Archives of Spark's classes, made while commands run: they neither hold a command up nor outlive it.

To write an archive, a JVM stops all its threads, for 15 seconds or more. So a second JVM writes it, at a low
priority, and is killed if the command ends earlier. Spark's JVM writes the names of its classes to a file;
the second one loads these. It makes a small archive of what Spark loads first, and then one of all. If there
is no time for that, the names are kept, and another command may have it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Event, Thread
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from millstream.machine.archive import Archive, archive_for, clear, drop, keep
from millstream.machine.environment import for_java
from millstream.machine.java import Java, java
from millstream.machine.locks import opened, try_lock
from millstream.machine.memory import memory_of_machine

_SHELL = ("/bin/sh", "-c")
_UNNOTICED = """
trap "" INT TERM HUP QUIT
[ -w /proc/$$/oom_score_adj ] && echo 1000 > /proc/$$/oom_score_adj
exec nice -n 10 "$0" "$@"
"""
"""A script for a command that nobody should notice.

It gets no signals of a terminal, and little of the CPU if others need that; Linux ends it first if there is
no memory left. It stays in the session of Millstream's command, since Linux shares the CPU out equally
between sessions.
"""
_ENDING = """trap "" INT TERM HUP QUIT; read -r _; kill -9 "$0\""""
"""A script that kills a process once its standard input ends, even if the command was killed."""
_PROGRAM = "millstream.spark.ClassLoading"
_OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xlog:disable",
    "-XX:ErrorFile=/dev/null",
    "-XX:-CreateCoredumpOnCrash",
)
_OF_MODULES = ("--add-", "--enable-")
_FIRST = 9_000
"""The classes of a small archive, which takes 14 seconds of CPU; one of all takes 35."""
_ENOUGH = 12_000
"""So many classes only a command has that ran a query: an archive of fewer is not worth its while."""
_ALL = 1_000_000
_TRIES = 5
"""The commands that try it: on a slow machine, none may have the time."""
_MEMORY = 4 * 1024**3
"""What a machine has, at least, if a second JVM runs: it takes about one GB."""


class ClassArchives:
    """The archives of a class path, which are made while a command runs if it has their lock."""

    def __init__(self, first: Archive, whole: Archive, lock: ExitStack | None = None) -> None:
        self._first, self._whole, self._lock = first, whole, lock
        self._known = Path(f"{whole.name}.classes")
        """The names of an earlier command, until there is an archive of all."""
        self._new = Path(f"{whole.written}.classes")
        self._process: Popen[bytes] | None = None
        self._stopped = Event()
        self._thread: Thread | None = None

    @property
    def options(self) -> str:
        """Java's options for Spark's JVM: to read an archive, to write the names of its classes, or both."""
        found = [each.flag for each in (self._whole, self._first) if each.file][:1]
        if self._lock and not self._known.exists():
            found.append(f"-XX:DumpLoadedClassList={self._new}")
        return " ".join(map(_quoted, found))

    def start(self, spark: SparkSession) -> None:
        """Start the second JVM, with the class path of Spark's, if there is an archive to make."""
        if self._lock is None:
            return
        jvm: Any = spark._jvm  # noqa: SLF001 -- there is no public way to the JVM
        # If Spark's JVM has ended, the command says so.
        with contextlib.suppress(Py4JError, ConnectionError):
            property_of = jvm.java.lang.System.getProperty
            given = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
            modules = [each for each in given if each.startswith(_OF_MODULES)]
            program = str(Path(property_of("java.home"), "bin", "java"))
            command = [program, "-cp", property_of("java.class.path"), *_OPTIONS, *modules]
            arguments = (self._lock, command, for_java(os.environ))
            self._thread = Thread(target=self._make, args=arguments, name="class archive", daemon=True)
            self._thread.start()

    def _make(self, lock: ExitStack, command: Sequence[str], environment: Mapping[str, str]) -> None:
        known = self._known.exists()
        names = [str(self._known)] if known else [str(self._new), "grows"]

        def made(archive: Archive, least: int, most: int) -> bool:
            program = [*command, archive.flag, _PROGRAM, str(least), str(most), *names]
            with _ending_with_command(program, environment) as self._process:
                ended = not self._stopped.is_set() and self._process.wait() == 0
            if not ended:
                drop(archive)
            return ended and keep(archive)

        # A machine that can start no more processes has no archive.
        with lock, contextlib.suppress(OSError):
            small = bool(self._first.file) or made(self._first, 0, _FIRST)
            if small and made(self._whole, 0 if known else _ENOUGH, _ALL):
                clear(self._first, kept=True)
                self._known.unlink(missing_ok=True)
                self._new.unlink(missing_ok=True)

    def stop(self) -> None:
        """Stop the second JVM; keep the names for another command, if they are enough and still needed."""
        if self._lock is None:
            return
        self._stopped.set()
        if self._process:
            self._process.kill()
        if self._thread:
            self._thread.join()
        with contextlib.suppress(OSError):
            if len(self._new.read_bytes().splitlines()) < _ENOUGH:
                self._new.unlink()
            else:
                self._new.replace(self._known)


@contextmanager
def class_archives(jars: Sequence[Path] | None) -> Iterator[ClassArchives]:
    """Yield the archives of a Spark with these jars; without any, if it does not run here."""
    if jars is None:
        yield ClassArchives(Archive(""), Archive(""))
        return
    found_java = java()
    with ExitStack() as lock:
        first, whole = _archives(found_java, jars)
        making = bool(whole.written) and _may_make(whole, lock)
        if making:
            first, whole = _archives(found_java, jars)  # another command may have made one meanwhile
            making = bool(whole.written)
        archives = ClassArchives(first, whole, lock if making else None)
        try:
            yield archives
        finally:
            archives.stop()


def _archives(found_java: Java, jars: Sequence[Path]) -> tuple[Archive, Archive]:
    """Return the small archive and that of all classes; without names if the cache can't be used."""
    class_path = [Path(pyspark.__file__).parent / "jars", *jars]
    first = archive_for("spark-first", found_java, class_path)
    whole = archive_for("spark", found_java, class_path)
    return first or Archive(""), whole or Archive("")


def _may_make(archive: Archive, lock: ExitStack) -> bool:
    """Lock an archive; return whether this command should make it."""
    memory = memory_of_machine()
    if memory is not None and memory < _MEMORY:
        return False
    try:
        handle = lock.enter_context(opened(Path(f"{archive.name}.lock")))
        if not try_lock(handle):
            return False
        tries = int(os.pread(handle, 9, 0) or b"0") + 1
        os.pwrite(handle, b"%d" % tries, 0)
    except (OSError, ValueError):
        return False
    clear(archive)
    return tries <= _TRIES


def _quoted(option: str) -> str:
    """Return an option as Spark's launcher reads it, which splits options at spaces."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@contextmanager
def _ending_with_command(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Popen[bytes]]:
    """Start a process, and kill it in the end."""
    quiet: dict[str, Any] = {"env": environment, "stdout": DEVNULL, "stderr": DEVNULL}
    with Popen([*_SHELL, _UNNOTICED, *command], stdin=DEVNULL, **quiet) as process:  # noqa: S603
        try:
            with Popen([*_SHELL, _ENDING, str(process.pid)], stdin=PIPE, **quiet) as watch:  # noqa: S603
                try:
                    yield process
                finally:
                    watch.kill()
        finally:
            process.kill()
