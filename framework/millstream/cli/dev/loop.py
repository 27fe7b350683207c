"""Decides what to do after a change: the newest state of the files is always what is shown last."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from millstream.cli.dev.events import Event, RoundBegan, to_line
from millstream.cli.dev.process import RoundProcess, Start


class RoundRenderer(Protocol):
    """Shows what rounds tell."""

    def show(self, event: Event, line: bytes, /) -> None: ...


class _Saved(Struct, frozen=True):
    files: tuple[str, ...]


class _EventArrived(Struct, frozen=True, eq=False):
    round: RoundProcess
    event: Event
    line: bytes


class _Ended(Struct, frozen=True, eq=False):
    round: RoundProcess


class _Stopped(Struct, frozen=True):
    error: BaseException | None


class DevLoop:
    """One round at a time. A change ends the round that runs; the next one has the files of both."""

    def __init__(self, start: Start, renderer: RoundRenderer) -> None:
        self._start, self._renderer = start, renderer
        self._inbox: queue.SimpleQueue[_Saved | _EventArrived | _Ended | _Stopped] = queue.SimpleQueue()
        self._running: RoundProcess | None = None
        self._waiting: dict[str, None] | None = None
        """The files of the next round; None if there is none."""

    def watch(self, changes: Iterable[tuple[str, ...]]) -> None:
        """Take changes in a thread of their own; the first one only says that files are watched."""

        def take() -> None:
            error: BaseException | None = None
            try:
                for files in changes:
                    self._inbox.put(_Saved(files))
            except Exception as raised:  # noqa: BLE001 - raised where the loop runs
                error = raised
            self._inbox.put(_Stopped(error))

        threading.Thread(target=take, daemon=True).start()

    def run(self) -> None:
        """Run until the watcher stops, or an exception such as that of Ctrl-C."""
        try:
            while True:
                match self._inbox.get():
                    case _Saved(files):
                        self._on_saved(files)
                    case _EventArrived(round, event, line):
                        if not round.interrupted:
                            self._renderer.show(event, line)
                    case _Ended():
                        self._running = None
                    case _Stopped(error):
                        if error is not None:
                            raise error
                        return
                self._begin()
        finally:
            if self._running is not None:
                self._running.interrupt()
                self._running.join()

    def _on_saved(self, files: tuple[str, ...]) -> None:
        self._waiting = (self._waiting or {}) | dict.fromkeys(files)
        if self._running is not None and not self._running.interrupted:
            self._waiting |= dict.fromkeys(self._running.files)
            self._running.interrupt()

    def _begin(self) -> None:
        """Begin the next round, if there is one and none runs."""
        if self._running is not None or self._waiting is None:
            return
        files, self._waiting = tuple(sorted(self._waiting)), None
        event = RoundBegan(files)
        self._renderer.show(event, to_line(event).encode())
        self._running = self._start(
            files,
            lambda round_, event, line: self._inbox.put(_EventArrived(round_, event, line)),
            lambda round_: self._inbox.put(_Ended(round_)),
        )
