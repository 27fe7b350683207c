"""The process of a round: `dev --once`, in the warm session of the project if there is one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from millstream.cli.dev.events import Event, RoundEnded, from_line
from millstream.cli.options import CommonOptions
from millstream.local.warm_session.use import allowed_session

OnEvent = Callable[["RoundProcess", Event, bytes], None]
OnEnd = Callable[["RoundProcess"], None]
Start = Callable[[tuple[str, ...], OnEvent, OnEnd], "RoundProcess"]
"""Starts a round for the files that were saved."""


class RoundOptions(Struct, frozen=True):
    sample: int
    """The most records of each input."""
    limit: int
    """Rows and differences that are shown."""
    first: bool = False
    """Begin here: nothing was edited yet."""


class RoundProcess:
    """A round that runs; its events and its end are told from a thread."""

    def __init__(
        self, arguments: Sequence[str], files: tuple[str, ...], on_event: OnEvent, on_end: OnEnd
    ) -> None:
        self.files = files
        self.interrupted = False
        self._on_event, self._on_end = on_event, on_end
        self._process = subprocess.Popen(  # noqa: S603 - the command of this user
            [sys.executable, "-m", "millstream", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C is for `dev`, which ends the round.
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def interrupt(self) -> None:
        """End the round, so that its Spark can be used again."""
        self.interrupted = True
        self._process.send_signal(signal.SIGINT)  # also if it ends just now

    def join(self) -> None:
        self._thread.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        errors: list[bytes] = []
        reader = threading.Thread(
            target=lambda pipe: errors.append(pipe.read()), args=(self._process.stderr,)
        )
        reader.start()
        ended, rest = False, b""
        for line in self._process.stdout:
            try:
                event = from_line(line)
            except msgspec.MsgspecError:
                rest += line
                continue
            ended = ended or isinstance(event, RoundEnded)
            self._on_event(self, event, line)
        reader.join()
        code = self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            pipe.close()
        if not ended and not self.interrupted:
            event = RoundEnded(code or 2, 0, _diagnostics(rest, b"".join(errors)))
            self._on_event(self, event, msgspec.json.encode(event))
        self._on_end(self)


def _diagnostics(output: bytes, errors: bytes) -> tuple[Any, ...]:
    """Return why a round ended without saying so: the document of a failed command, or its last words."""
    try:
        return tuple(json.loads(output)["diagnostics"])
    except (ValueError, KeyError, TypeError):
        text = (errors or output).decode("utf-8", "replace").strip() or "the round was killed"
        return (
            {"code": "MS900", "severity": "error", "message": text, "help": "", "notes": [], "path": None},
        )


def rounds_of(common: CommonOptions, root: Path, options: RoundOptions) -> Start:
    """Return what starts a round with the options of the command; the first one only compiles."""
    named = {
        "--target": common.target, "--vars": common.vars, "--profiles-dir": common.profiles_dir,
        "--sample": options.sample, "--limit": options.limit,
    }  # fmt: skip
    words = [word for name, value in named.items() if value for word in (name, str(value))]
    words += [] if allowed_session() else ["--no-session"]
    count = 0

    def start(files: tuple[str, ...], on_event: OnEvent, on_end: OnEnd) -> RoundProcess:
        nonlocal count
        count += 1
        first = ["--first"] if count == 1 else []
        arguments = ["dev", "--once", "--output", "json", "--project-dir", str(root.resolve()), *words]
        return RoundProcess([*arguments, *first], files, on_event, on_end)

    return start
