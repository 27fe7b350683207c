"""Spark's JVM of a session: one command after the other uses it and leaves nothing in it (`WarmJvm.java`)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from millstream.local.group_signals import ignore_group_signals

_MORE_THAN_HEAP = 1536 << 20
"""What a JVM takes beside its heap; one that takes more is not used again."""


class JvmRequest(Struct, frozen=True):
    """The JVM that a command needs."""

    key: str
    """What must be equal: Java, its options, Python, the project's Spark settings."""
    environment: dict[str, str]
    folder: str
    """The current folder, which is that of Python workers too."""
    jars: tuple[str, ...]
    heap: int
    """In MiB."""
    command: tuple[str, ...] = ()
    """How it is started; empty to borrow one that runs."""
    log: str = ""
    """The file for what Java writes before its log is configured."""

    def fits(self, running: JvmRequest) -> bool:
        """Return whether the JVM that was started for another request can be used."""
        return (
            self.differs_at_most_in_size(running)
            and self.heap <= running.heap
            and {*self.jars} <= {*running.jars}
        )

    def differs_at_most_in_size(self, running: JvmRequest) -> bool:
        """Return whether the other JVM would do if it had more memory and more jars."""
        return (self.key, self.environment, self.folder) == (running.key, running.environment, running.folder)


class JvmProcess:
    """The process; `state` says what it does, and its answers are read from `answers`."""

    def __init__(self, request: JvmRequest) -> None:
        self.request = request
        self.state = "starting"
        self.commands = 0
        with Path(request.log).open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - the command of this user
                request.command,
                env=request.environment,
                cwd=request.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                preexec_fn=ignore_group_signals,  # noqa: PLW1509 - the session has no threads
            )
        self._text = b""

    @property
    def answers(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def ask(self, request: str) -> None:
        """Send a request; that it has ended meanwhile is seen when its answer is read."""
        assert self.process.stdin is not None
        try:
            os.write(self.process.stdin.fileno(), f"{request}\n".encode())
        except BrokenPipeError:
            return

    def read_answers(self) -> list[str] | None:
        """Return the lines that it has written, or None if it has ended."""
        part = os.read(self.answers, 1 << 16)
        if not part:
            return None
        *lines, self._text = (self._text + part).split(b"\n")
        return [line.decode() for line in lines]

    def end(self) -> int:
        """Kill it, and return its exit code: checkpoints always allow for that."""
        self.process.kill()
        code = self.process.wait()
        self.close_pipes()
        return code

    def close_pipes(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def is_too_large(self) -> bool:
        return memory_of(self.process.pid) > (self.request.heap << 20) + _MORE_THAN_HEAP


def memory_of(pid: int) -> int:
    """Return the bytes of memory that a process has; 0 if the system does not say so."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def read_request(message: Any) -> JvmRequest:
    return msgspec.convert(message, JvmRequest)
