"""The broker as several commands share it: who comes first starts it, who leaves last stops it.

A user holds a shared lock on `users.lock` as long as it works. The kernel drops the lock of a process that
was killed, so that nobody has to count or to clean up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from millstream.broker.answer import answers
from millstream.broker.log import address_in_use, last_lines
from millstream.broker.place import BrokerFolder, place_of
from millstream.broker.process import is_alive, launch, stop
from millstream.broker.state import read_pid, read_state, write_state
from millstream.errors import Diagnostic, MillstreamError, Note
from millstream.machine.archive import drop
from millstream.machine.jars import Progress, fetch
from millstream.machine.java import Java, java
from millstream.machine.locks import check_system, lock, locked, opened, try_lock

FEATURE = "broker"
_START = 60.0
_LOCK = 90.0
_TRIES = 3
_POLL = 0.03


class Broker(Struct, frozen=True):
    """A broker that answers."""

    bootstrap_servers: str
    pid: int
    folder: Path


class Status(Struct, frozen=True):
    state: Literal["stopped", "starting", "running"]
    bootstrap_servers: str | None
    pid: int | None
    kept: bool
    """It goes on when the last command ends, until it is stopped."""
    used: bool
    """A command works with it."""
    folder: Path
    log: Path


class Starting:
    """A broker on its way; other work can be done until it is needed."""

    def __init__(self, place: BrokerFolder) -> None:
        self._place = place
        self._broker: Broker | None = None

    def ready(self) -> Broker:
        """Wait until the broker answers; raise where it ends instead."""
        if self._broker is None:
            self._broker = _wait(self._place)
        return self._broker


@contextmanager
def shared_broker(root: Path, progress: Progress | None = None) -> Iterator[Starting]:
    """Start the project's broker, or join the one that runs; stop it if nobody else needs it any more.

    The block is entered while the broker still starts: `ready()` waits for it.
    """
    check_system()
    place = place_of(root)
    with _writing(place):
        place.folder.mkdir(parents=True, exist_ok=True)
    with opened(place.users_lock) as user:
        with _writing(place):
            _join(place, user, progress)
        try:
            yield Starting(place)
        finally:
            _leave(place, user)


def keep_broker(root: Path, progress: Progress | None = None) -> Broker:
    """Start the broker, or join it, and let it go on until it is stopped."""
    place = place_of(root)
    with shared_broker(root, progress) as starting:
        broker = starting.ready()
        with _writing(place), locked(place.start_lock, _LOCK):
            _set_kept(place, kept=True)
    return broker


def revive(root: Path) -> bool:
    """Start the broker again that died under a command which uses it; tell if there was need to."""
    place = place_of(root)
    if is_alive(place):
        return False
    means = _means(None)
    with _writing(place), locked(place.start_lock, _LOCK):
        if is_alive(place):
            return False
        state = read_state(place)
        launch(place, *means, kept=state is not None and state.kept)
    _wait(place)
    return True


def stop_broker(root: Path, *, force: bool = False) -> Literal["stopped", "not running", "in use"]:
    """Stop the broker; one that a command works with goes on until that command ends, unless forced."""
    check_system()
    place = place_of(root)
    if not place.folder.is_dir():
        return "not running"
    with _writing(place), locked(place.start_lock, _LOCK):
        if not is_alive(place):
            return "not running"
        _set_kept(place, kept=False)
        if _is_used(place) and not force:
            return "in use"
        stop(place)
        return "stopped"


def broker_status(root: Path) -> Status:
    check_system()
    place = place_of(root)
    state = read_state(place)
    if state is None or not is_alive(place):
        return Status("stopped", None, None, kept=False, used=False, folder=place.folder, log=place.log)
    with _writing(place), locked(place.start_lock, _LOCK):
        used = _is_used(place)
    return Status(
        "running" if answers(state) else "starting",
        state.bootstrap_servers,
        read_pid(place),
        kept=state.kept,
        used=used,
        folder=place.folder,
        log=place.log,
    )


def _is_used(place: BrokerFolder) -> bool:
    """Try to be alone with the file; whoever leaves at this moment must not find it taken: start lock."""
    with opened(place.users_lock) as handle:
        return not try_lock(handle)


def _join(place: BrokerFolder, user: int, progress: Progress | None) -> None:
    # What may take long, or fail, comes before the lock that others wait for.
    means = None if is_alive(place) else _means(progress)
    with locked(place.start_lock, _LOCK):
        lock(user, _LOCK, shared=True)
        if not is_alive(place):
            launch(place, *(means or _means(progress)))


def _leave(place: BrokerFolder, user: int) -> None:
    with locked(place.start_lock, _LOCK):
        state = read_state(place)
        # Alone with the file: nobody else works with the broker.
        if (state is None or not state.kept) and try_lock(user):
            stop(place)


def _means(progress: Progress | None) -> tuple[Java, tuple[Path, ...]]:
    return java(), fetch([FEATURE], progress)[FEATURE]


def _wait(place: BrokerFolder) -> Broker:
    deadline = time.monotonic() + _START
    while True:
        state = read_state(place)
        if state and answers(state):
            return Broker(state.bootstrap_servers, read_pid(place) or 0, place.folder)
        if not is_alive(place):
            _start_again(place)
        if time.monotonic() > deadline:
            if state and state.archive:
                # Damaged, it may also make a JVM hang: the next one does without.
                drop(state.archive, used=True)
            message = f"the broker does not answer after {_START:.0f} seconds"
            remedy = f"see {place.log}; `millstream broker stop --force` stops it"
            raise MillstreamError(Diagnostic("MS812", message, None, remedy, notes=_notes(place)))
        time.sleep(_POLL)


def _start_again(place: BrokerFolder) -> None:
    """Start a broker anew whose port was taken before it was there; raise if it ended for another reason.

    A damaged archive of classes makes a JVM crash: it is tried without one.
    """
    means = _means(None)
    with _writing(place), locked(place.start_lock, _LOCK):
        state = read_state(place)
        if is_alive(place):
            return
        damaged = state.archive if state and state.archive and state.archive.file else None
        if state is None or state.tries >= _TRIES or not (address_in_use(place) or damaged):
            remedy = f"the whole log is {place.log}; `millstream clean` gives up what is in the topics"
            message = "the local broker ended while it started"
            raise MillstreamError(Diagnostic("MS811", message, None, remedy, notes=_notes(place)))
        if damaged and not address_in_use(place):
            drop(damaged, used=True)
        launch(place, *means, kept=state.kept, tries=state.tries + 1)


def _notes(place: BrokerFolder) -> tuple[Note, ...]:
    return tuple(map(Note, last_lines(place)))


def _set_kept(place: BrokerFolder, *, kept: bool) -> None:
    if state := read_state(place):
        write_state(place, structs.replace(state, kept=kept))


@contextmanager
def _writing(place: BrokerFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"the broker can't be started in {place.folder}: {(error.strerror or str(error)).lower()}"
        remedy = "make the folder writable, or make room"
        raise MillstreamError(Diagnostic("MS814", message, None, remedy)) from None
