"""A Kafka broker on this machine, shared by commands: the first one starts it, the last one stops it.

Each command holds a shared lock on `users.lock` while it uses the broker. The kernel releases the lock of a
killed process, so that no counting or clean-up is necessary.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from millstream.broker.answer import answers
from millstream.broker.log import address_in_use, last_lines
from millstream.broker.place import BrokerFolder, broker_folder_of
from millstream.broker.process import is_alive, launch, stop
from millstream.broker.state import read_pid, read_state, write_state
from millstream.errors import Diagnostic, MillstreamError, Note, reporting_os_errors
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
    """It keeps running after the last command, until it is stopped."""
    used: bool
    """A command is using it."""
    folder: Path
    log: Path


class Starting:
    """A broker that is starting; other work can be done meanwhile."""

    def __init__(self, folder: BrokerFolder) -> None:
        self._folder = folder
        self._broker: Broker | None = None

    def ready(self) -> Broker:
        """Wait until the broker answers; raise if it ends instead."""
        if self._broker is None:
            self._broker = _wait(self._folder)
        return self._broker


@contextmanager
def shared_broker(root: Path, progress: Progress | None = None) -> Iterator[Starting]:
    """Start the project's broker, or join the running one; afterwards, stop it if no other command uses it.

    The block starts while the broker is still starting; `ready()` waits for it.
    """
    check_system()
    folder = broker_folder_of(root)
    with _reporting_write_errors(folder):
        folder.path.mkdir(parents=True, exist_ok=True)
    with opened(folder.users_lock) as user:
        with _reporting_write_errors(folder):
            _join(folder, user, progress)
        try:
            yield Starting(folder)
        finally:
            _leave(folder, user)


def keep_broker(root: Path, progress: Progress | None = None) -> Broker:
    """Start or join the broker, and keep it running until it is stopped."""
    folder = broker_folder_of(root)
    with shared_broker(root, progress) as starting:
        broker = starting.ready()
        with _reporting_write_errors(folder), locked(folder.start_lock, _LOCK):
            _set_kept(folder, kept=True)
    return broker


def revive(root: Path) -> bool:
    """Restart the broker if it died while a command uses it; return whether it had died."""
    folder = broker_folder_of(root)
    if is_alive(folder):
        return False
    java_and_jars = _java_and_jars(None)
    with _reporting_write_errors(folder), locked(folder.start_lock, _LOCK):
        if is_alive(folder):
            return False
        state = read_state(folder)
        launch(folder, *java_and_jars, kept=state is not None and state.kept)
    _wait(folder)
    return True


def stop_broker(root: Path, *, force: bool = False) -> Literal["stopped", "not running", "in use"]:
    """Stop the broker; if a command is using it, it stops after that command, unless forced."""
    check_system()
    folder = broker_folder_of(root)
    if not folder.path.is_dir():
        return "not running"
    with _reporting_write_errors(folder), locked(folder.start_lock, _LOCK):
        if not is_alive(folder):
            return "not running"
        _set_kept(folder, kept=False)
        if _is_in_use(folder) and not force:
            return "in use"
        stop(folder)
        return "stopped"


def broker_status(root: Path) -> Status:
    check_system()
    folder = broker_folder_of(root)
    state = read_state(folder)
    if state is None or not is_alive(folder):
        return Status("stopped", None, None, kept=False, used=False, folder=folder.path, log=folder.log)
    with _reporting_write_errors(folder), locked(folder.start_lock, _LOCK):
        used = _is_in_use(folder)
    return Status(
        "running" if answers(state) else "starting",
        state.bootstrap_servers,
        read_pid(folder),
        kept=state.kept,
        used=used,
        folder=folder.path,
        log=folder.log,
    )


def _is_in_use(folder: BrokerFolder) -> bool:
    """Whether a command uses the broker. Requires the start lock, since the check takes the lock briefly."""
    with opened(folder.users_lock) as handle:
        return not try_lock(handle)


def _join(folder: BrokerFolder, user: int, progress: Progress | None) -> None:
    # Steps that may take long or fail come before the lock that other commands wait for.
    java_and_jars = None if is_alive(folder) else _java_and_jars(progress)
    with locked(folder.start_lock, _LOCK):
        lock(user, _LOCK, shared=True)
        if not is_alive(folder):
            launch(folder, *(java_and_jars or _java_and_jars(progress)))


def _leave(folder: BrokerFolder, user: int) -> None:
    with locked(folder.start_lock, _LOCK):
        state = read_state(folder)
        # An exclusive lock means that no other command uses the broker.
        if (state is None or not state.kept) and try_lock(user):
            stop(folder)


def _java_and_jars(progress: Progress | None) -> tuple[Java, tuple[Path, ...]]:
    return java(), fetch([FEATURE], progress)[FEATURE]


def _wait(folder: BrokerFolder) -> Broker:
    deadline = time.monotonic() + _START
    while True:
        state = read_state(folder)
        if state and answers(state):
            return Broker(state.bootstrap_servers, read_pid(folder) or 0, folder.path)
        if not is_alive(folder):
            _restart(folder)
        if time.monotonic() > deadline:
            if state and state.archive:
                # A damaged archive can also make a JVM hang; the next start works without it.
                drop(state.archive, used=True)
            message = f"the broker does not answer after {_START:.0f} seconds"
            remedy = f"see {folder.log}; `millstream broker stop --force` stops it"
            raise MillstreamError(Diagnostic("MS812", message, None, remedy, notes=_notes(folder)))
        time.sleep(_POLL)


def _restart(folder: BrokerFolder) -> None:
    """Restart a broker whose port was taken during its start; raise if it ended for another reason.

    A damaged class archive can crash the JVM: the next attempt is made without it.
    """
    java_and_jars = _java_and_jars(None)
    with _reporting_write_errors(folder), locked(folder.start_lock, _LOCK):
        state = read_state(folder)
        if is_alive(folder):
            return
        damaged = state.archive if state and state.archive and state.archive.file else None
        if state is None or state.tries >= _TRIES or not (address_in_use(folder) or damaged):
            remedy = f"see {folder.log}; `millstream clean` removes the broker with all records of its topics"
            message = "the local broker ended during its start"
            raise MillstreamError(Diagnostic("MS811", message, None, remedy, notes=_notes(folder)))
        if damaged and not address_in_use(folder):
            drop(damaged, used=True)
        launch(folder, *java_and_jars, kept=state.kept, tries=state.tries + 1)


def _notes(folder: BrokerFolder) -> tuple[Note, ...]:
    return tuple(map(Note, last_lines(folder)))


def _set_kept(folder: BrokerFolder, *, kept: bool) -> None:
    if state := read_state(folder):
        write_state(folder, structs.replace(state, kept=kept))


def _reporting_write_errors(folder: BrokerFolder) -> AbstractContextManager[None]:
    message = f"the broker can't be started in {folder.path}"
    return reporting_os_errors("MS814", message, "make the folder writable, or free disk space")
