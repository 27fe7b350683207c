"""Lets several runs share a target, each with queries of its own: who runs which.

A run holds a lock for each of its queries until it ends. While a run starts, it also holds the setup lock, so
that what is deployed does not change under another run that starts.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.decoding import from_json
from millstream.core.encoding import to_json
from millstream.core.own_folder import make_folder
from millstream.local.holders import LockHolder, holder_of, write_holder
from millstream.local.locks import is_locked, open_lock, try_lock, wait_for_lock
from millstream.stores.files import Files, path_in

_log = logging.getLogger(__name__)
FOLDER = "locks"
"""Next to the checkpoints."""
BEAT = 5.0
"""Seconds between two signs of life of a command, where the kernel has no locks."""
PATIENCE = 6 * BEAT
LOST = 4 * BEAT
"""Seconds without one after which a command ends, before others take over what it worked with."""
_SETUP = "setup"
_LOCK = ".lock"
_SIGN = ".json"
_POLL = 0.5


class QueryLocks(Protocol):
    def setup(self) -> AbstractContextManager[None]:
        """Hold the setup lock; wait while another run starts."""
        ...

    def others(self) -> Mapping[str, str]:
        """Return the queries of other runs, with who runs them; only within `setup`."""
        ...

    def take(self, queries: Collection[str]) -> Mapping[str, str]:
        """Lock queries, or none of them if other runs have some, and return those; only within `setup`."""
        ...


class LocalLocks:
    """The kernel's locks of files, which end with their process."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder / FOLDER
        make_folder(self._folder)
        self._stack = stack
        self._taken: set[str] = set()

    @contextmanager
    def setup(self) -> Iterator[None]:
        with open_lock(self._folder / _SETUP) as handle:
            wait_for_lock(handle)
            yield

    def others(self) -> Mapping[str, str]:
        files = sorted(file for file in self._folder.glob(f"*{_LOCK}") if file.stem not in self._taken)
        return {file.stem: _named(holder_of(file)) for file in files if is_locked(file)}

    def take(self, queries: Collection[str]) -> Mapping[str, str]:
        others = self.others()
        if conflicts := {name: others[name] for name in sorted(queries) if name in others}:
            return conflicts
        for name in sorted(set(queries) - self._taken):
            handle = self._stack.enter_context(open_lock(self._folder / f"{name}{_LOCK}"))
            locked = try_lock(handle)
            assert locked, "only a run that holds the setup lock takes others"
            write_holder(handle)
            self._taken.add(name)
        return {}


class Heartbeat(Struct, frozen=True):
    """A file that a command rewrites regularly, with what it works with."""

    owner: str
    host: str
    holder: LockHolder
    queries: tuple[str, ...] = ()
    setup: bool = False
    beat: int = 0
    alone: bool = False
    """It has the whole target, as commands other than runs with `--shared` need it."""


class _Seen(Struct, frozen=True):
    content: bytes
    since: float
    """When this process first saw this content."""
    changed: bool
    """It has seen another content before: the run is alive."""


class Heartbeats:
    """Files of commands on a file system without locks: one whose file does not change any more has ended.

    A command first writes its own file and then reads those of the others, so that at least one of two sees
    the other. Clocks need not be synchronized. `blocked` is called with another command that has the target
    for itself, or that this one waits for to have it: it raises an error, or reports that this one waits.
    """

    def __init__(
        self, files: Files, folder: str, sign: Heartbeat, blocked: Callable[[Heartbeat], None]
    ) -> None:
        self._files = files
        self._folder = path_in(folder, FOLDER)
        self._sign = sign
        self._blocked = blocked
        self._writing = threading.Lock()
        self._ended = threading.Event()
        self._seen: dict[str, _Seen] = {}
        self._written = _now()

    @property
    def lost(self) -> bool:
        """Whether it could not write for so long: the file system failed, or the machine was suspended."""
        return _now() - self._written > LOST

    @contextmanager
    def beating(self, lose: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Say regularly that this command is alive; call `lose` if that fails for too long."""
        self._write(self._sign)
        beating = threading.Thread(target=self._beat, name="lock", daemon=True)
        beating.start()
        # A thread of its own: a write can take longer than others wait.
        threading.Thread(target=self._watch, args=(lose,), name="lost lock", daemon=True).start()
        try:
            yield
        finally:
            self._ended.set()
            beating.join()
            self._files.remove(self._path(self._sign.owner))

    def _beat(self) -> None:
        while not self._ended.wait(BEAT) and not self.lost:
            try:
                self._write()
            except Exception as error:  # noqa: BLE001 -- whatever the file system's client raises
                _log.debug("could not write that this command is alive: %s", error)

    def _watch(self, lose: Callable[[], None]) -> None:
        while not self._ended.wait(_POLL):
            if self.lost:
                lose()
                return

    def _write(self, sign: Heartbeat | None = None) -> None:
        with self._writing:
            self._sign, now = replace(sign or self._sign, beat=self._sign.beat + 1), _now()
            self._files.write(self._path(self._sign.owner), to_json(self._sign))
            self._written = now

    def _path(self, owner: str) -> str:
        return path_in(self._folder, f"{owner}{_SIGN}")

    @contextmanager
    def setup(self) -> Iterator[None]:
        while True:
            self._write(replace(self._sign, setup=True))
            others = self.living()
            if alone := [other for other in others if other.alone]:
                self._write(replace(self._sign, setup=False))
                self._blocked(alone[0])
            elif not (busy := [other for other in others if other.setup]):
                break
            elif any(other.owner < self._sign.owner for other in busy):
                self._write(replace(self._sign, setup=False))  # of two that start, one goes first
            self._ended.wait(_POLL)
        try:
            yield
        finally:
            self._write(replace(self._sign, setup=False))

    def take_target(self) -> None:
        """Have the whole target until this command ends."""
        while True:
            with self.setup():
                running = [other for other in self.living() if other.queries]
                if not running:
                    self._write(replace(self._sign, alone=True))
                    return
            self._blocked(running[0])
            time.sleep(_POLL)

    def others(self) -> Mapping[str, str]:
        return {
            name: f"{_named(other.holder)} on {other.host}"
            for other in self.living()
            for name in other.queries
        }

    def take(self, queries: Collection[str]) -> Mapping[str, str]:
        others = self.others()
        if conflicts := {name: others[name] for name in sorted(queries) if name in others}:
            return conflicts
        self._write(replace(self._sign, queries=tuple(sorted({*self._sign.queries, *queries}))))
        return {}

    def living(self) -> list[Heartbeat]:
        """Return the signs of other commands that are alive; it may take a while to see that one is not."""
        while (signs := self._judged()) is None:
            time.sleep(_POLL)
        return signs

    def _judged(self) -> list[Heartbeat] | None:
        signs: list[Heartbeat] = []
        unknown = False
        for name in self._files.names(self._folder):
            if not name.endswith(_SIGN) or name == f"{self._sign.owner}{_SIGN}":
                continue
            content = self._files.read(path_in(self._folder, name))
            if content is None:
                # Either it was removed, or some file system replaces files in two steps.
                unknown = unknown or name in self._files.names(self._folder)
                continue
            seen, now = self._seen.get(name), _now()
            if seen is None or seen.content != content:
                seen = self._seen[name] = _Seen(content, now, changed=seen is not None)
            if now - seen.since > PATIENCE:
                self._files.remove(path_in(self._folder, name))
                continue
            unknown = unknown or not seen.changed
            signs.append(from_json(content, Heartbeat))
        return None if unknown else signs


def _now() -> float:
    """Return seconds that also pass while the machine is suspended, as they do for others."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def _named(holder: LockHolder | None) -> str:
    return str(holder) if holder is not None else "another run"


def local_holder(folder: Path) -> LockHolder | None:
    """Return one of the runs that share a target; None if none is known.

    `folder` is that of the target, which has its checkpoints unless these are elsewhere, or that of these.
    """
    files = [*folder.glob(f"{FOLDER}/*{_LOCK}"), *folder.glob(f"checkpoints/{FOLDER}/*{_LOCK}")]
    holders = (holder_of(file) for file in sorted(files) if is_locked(file))
    return next((holder for holder in holders if holder is not None), None)
