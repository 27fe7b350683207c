"""Makes archives of classes while commands run: they neither hold a command up nor outlive it.

A JVM that writes an archive of its own classes stops all its threads meanwhile. So a second JVM writes it, at
a low priority, and is killed if the command ends earlier.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Event, Thread
from typing import Any

from millstream.local.archive import Archive, clear_archive, drop_archive, keep_archive
from millstream.local.locks import open_lock, try_lock
from millstream.local.memory import memory_of_machine

QUIET = ("-Xlog:disable", "-XX:ErrorFile=/dev/null", "-XX:-CreateCoredumpOnCrash")
"""Options of a JVM that nobody should notice."""
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


class SecondJvm:
    """Writes archives, one after the other, until the command ends."""

    def __init__(self) -> None:
        self._process: Popen[bytes] | None = None
        self._stopped = Event()

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def makes(self, archive: Archive, command: Sequence[str], environment: Mapping[str, str]) -> bool:
        """Run a command that writes an archive; return whether it was written and is kept."""
        with _ending_with_command(command, environment) as self._process:
            ended = not self.stopped and self._process.wait() == 0
        if not ended:
            drop_archive(archive)
        return ended and keep_archive(archive)

    def stop(self) -> None:
        self._stopped.set()
        if self._process:
            self._process.kill()


def may_make(archive: Archive, lock: ExitStack, *, memory: int, tries: int) -> bool:
    """Lock an archive; return whether this command should make it.

    The machine has to have so many bytes of memory. So many commands try it: on a slow machine, none may have
    the time.
    """
    has = memory_of_machine()
    if has is not None and has < memory:
        return False
    try:
        handle = lock.enter_context(open_lock(Path(f"{archive.name}.lock")))
        if not try_lock(handle):
            return False
        tried = int(os.pread(handle, 9, 0) or b"0") + 1
        os.pwrite(handle, b"%d" % tried, 0)
    except (OSError, ValueError):
        return False
    clear_archive(archive)
    return tried <= tries


def start_making(make: Callable[..., None], *arguments: object) -> Thread | None:
    """Start a thread that makes archives; return None on a machine that can start no more of them."""
    thread = Thread(target=make, args=arguments, name="class archive", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread


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
