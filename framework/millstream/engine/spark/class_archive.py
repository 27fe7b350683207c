"""Archives of Spark's classes, made while commands run.

Spark's JVM writes the names of its classes to a file; a second one loads these. It makes a small archive of
what Spark loads first, and then one of all. If there is no time for that, the names are kept, and another
command may have it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from millstream.local.archive import Archive, archive_for, clear_archive
from millstream.local.archive_threads import QUIET, SecondJvm, may_make, start_making
from millstream.local.environment import for_java
from millstream.local.java import JavaInstallation, find_java

_PROGRAM = "millstream.spark.ClassLoading"
_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *QUIET)
_OF_MODULES = ("--add-", "--enable-")
_FIRST = 9_000
"""The classes of a small archive, which takes 14 seconds of CPU; one of all takes 35."""
_ENOUGH = 12_000
"""So many classes only a command has that ran a query: an archive of fewer is not worth its while."""
_ALL = 1_000_000
_MEMORY = 4 * 1024**3
"""What a machine has, at least, if a second JVM runs: it takes about one GB."""
_TRIES = 5


class ClassArchives:
    """The archives of a class path, which are made while a command runs if it has their lock."""

    def __init__(self, first: Archive, full: Archive, lock: ExitStack | None = None) -> None:
        self._first, self._full, self._lock = first, full, lock
        self._jvm = SecondJvm()
        self._thread: Thread | None = None

    @property
    def options(self) -> str:
        """Java's options for Spark's JVM: to read an archive, to write the names of its classes, or both."""
        options = [archive.flag for archive in (self._full, self._first) if archive.file][:1]
        if self._lock and not self._full.names.exists():
            options.append(f"-XX:DumpLoadedClassList={self._full.new_names}")
        return " ".join(map(_quoted, options))

    def start(self, spark: SparkSession) -> None:
        """Start the second JVM, with the class path of Spark's, if there is an archive to make."""
        if self._lock is None:
            return
        jvm: Any = spark._jvm  # noqa: SLF001 -- there is no public way to the JVM
        # If Spark's JVM has ended, the command says so.
        with contextlib.suppress(Py4JError, ConnectionError):
            property_of = jvm.java.lang.System.getProperty
            java_arguments = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
            modules = [argument for argument in java_arguments if argument.startswith(_OF_MODULES)]
            program = str(Path(property_of("java.home"), "bin", "java"))
            command = [program, "-cp", property_of("java.class.path"), *_OPTIONS, *modules]
            arguments = (self._lock, command, for_java(os.environ))
            self._thread = start_making(self._make, *arguments)

    def _make(self, lock: ExitStack, command: Sequence[str], environment: Mapping[str, str]) -> None:
        has_names = self._full.names.exists()
        names = [str(self._full.names)] if has_names else [str(self._full.new_names), "grows"]

        def make(archive: Archive, least: int, most: int) -> bool:
            program = [*command, archive.flag, _PROGRAM, str(least), str(most), *names]
            return self._jvm.makes(archive, program, environment)

        # A machine that can start no more processes has no archive.
        with lock, contextlib.suppress(OSError):
            small = bool(self._first.file) or make(self._first, 0, _FIRST)
            if small and make(self._full, 0 if has_names else _ENOUGH, _ALL):
                clear_archive(self._first, complete=True)
                self._full.names.unlink(missing_ok=True)
                self._full.new_names.unlink(missing_ok=True)

    def stop(self) -> None:
        """Stop the second JVM; keep the names for another command, if they are enough and still needed."""
        if self._lock is None:
            return
        self._jvm.stop()
        if self._thread:
            self._thread.join()
        with contextlib.suppress(OSError):
            if len(self._full.new_names.read_bytes().splitlines()) < _ENOUGH:
                self._full.new_names.unlink()
            else:
                self._full.new_names.replace(self._full.names)


@contextmanager
def class_archives(jars: Sequence[Path] | None) -> Iterator[ClassArchives]:
    """Yield the archives of a Spark with these jars; without any, if it does not run here."""
    if jars is None:
        yield ClassArchives(Archive(""), Archive(""))
        return
    found_java = find_java()
    with ExitStack() as lock:
        first, full = _archives(found_java, jars)
        making = bool(full.written) and may_make(full, lock, memory=_MEMORY, tries=_TRIES)
        if making:
            first, full = _archives(found_java, jars)  # another command may have made one meanwhile
            making = bool(full.written)
        archives = ClassArchives(first, full, lock if making else None)
        try:
            yield archives
        finally:
            archives.stop()


def _archives(found_java: JavaInstallation, jars: Sequence[Path]) -> tuple[Archive, Archive]:
    """Return the small archive and that of all classes; without names if the cache can't be used."""
    class_path = [Path(pyspark.__file__).parent / "jars", *jars]
    first = archive_for("spark-first", found_java, class_path)
    full = archive_for("spark", found_java, class_path)
    return first or Archive(""), full or Archive("")


def _quoted(option: str) -> str:
    """Return an option as Spark's launcher reads it, which splits options at spaces."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
