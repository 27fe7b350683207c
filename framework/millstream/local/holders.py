"""Says which command holds a lock: it is written to the locked file, for commands that find it locked."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import msgspec
from msgspec import Struct

from millstream.core.decoding import from_json
from millstream.core.encoding import to_json

_LONGEST = 1000


class LockHolder(Struct, frozen=True):
    """A process with a lock."""

    command: str
    process: int
    since: datetime

    def __str__(self) -> str:
        since = self.since.astimezone()
        today = since.date() == datetime.now().astimezone().date()
        time = since.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")
        return f"`{self.command}` (process {self.process}, since {time})"


_MODULES = frozenset({"__main__.py", "start.py"})
"""What `python -m millstream` and the `start` of a package run."""


def this_process() -> LockHolder:
    return LockHolder(_command(sys.argv), os.getpid(), datetime.now(timezone.utc).replace(microsecond=0))


def _command(arguments: list[str]) -> str:
    """Return what runs without its options, which can hold secrets."""
    program = Path(arguments[0]).name if arguments and arguments[0] else "python"
    program = "millstream" if program in _MODULES else program
    word = arguments[1] if program == "millstream" and len(arguments) > 1 else ""
    return f"{program} {word}" if word[:1].isalpha() and word.replace("-", "").isalpha() else program


def write_holder(handle: int) -> None:
    """Write to a locked file who has it."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, to_json(this_process()), 0)


@contextmanager
def hold_lock(handle: int) -> Iterator[None]:
    """Write to a locked file who has it, as long as it does."""
    write_holder(handle)
    try:
        yield
    finally:
        os.ftruncate(handle, 0)


def holder_of(file: Path) -> LockHolder | None:
    """Return who has locked a file; None if it does not say."""
    try:
        with file.open("rb") as stream:
            return from_json(stream.read(_LONGEST), LockHolder)
    except (OSError, msgspec.MsgspecError):
        return None
