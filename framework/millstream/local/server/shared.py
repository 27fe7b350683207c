"""A server on this machine, shared by commands: the first one starts it, the last one stops it.

Each command holds a shared lock on `users.lock` while it uses the server. The kernel releases the lock of a
killed process, so that no counting or clean-up is necessary.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Literal

from msgspec import Struct, field, structs

from millstream.core.errors import Diagnostic, DiagnosticNote, MillstreamError, reporting_os_errors
from millstream.core.own_folder import make_folder
from millstream.local.archive import drop_archive
from millstream.local.jars import Progress
from millstream.local.locks import acquire_lock, check_system, lock_file, open_lock, try_lock
from millstream.local.server.class_archive import archive_meanwhile
from millstream.local.server.folder import ServerFolder
from millstream.local.server.log import address_in_use, last_lines
from millstream.local.server.process import is_alive, launch_server, stop_server
from millstream.local.server.program import Installed, ServerProgram
from millstream.local.server.state import read_pid, read_state, write_state
from millstream.local.warm_session.servers import keep_in_session, leave_in_session

_START = 180.0  # under load, a JVM takes more than a minute
_LOCK = 90.0
_TRIES = 3
_POLL = 0.03
_START_OVER = (
    "if you need nothing of what the project has on this machine, `millstream clean` removes all of it: the "
    "local broker with its topics and schemas, and the tables, checkpoints and logs of all targets"
)


Stopped = Literal["stopped", "not running", "in use"]


class RunningServer(Struct, frozen=True):
    """A server that answers."""

    address: str
    """Its host and port."""
    pid: int
    folder: Path


class ServerStatus(Struct, frozen=True):
    state: Literal["stopped", "starting", "running"]
    address: str | None
    pid: int | None
    keeps_running: bool = field(name="kept")
    """It keeps running after the last command, until it is stopped."""
    used: bool
    """A command is using it."""
    folder: Path
    log: Path


class StartingServer:
    """A server that is starting; other work can be done meanwhile."""

    def __init__(self, program: ServerProgram, folder: ServerFolder) -> None:
        self._program = program
        self._folder = folder
        self._server: RunningServer | None = None

    def ready(self) -> RunningServer:
        """Wait until the server answers; raise if it ends instead."""
        if self._server is None:
            self._server = _wait(self._program, self._folder)
        return self._server


@contextmanager
def share_server(
    program: ServerProgram, root: Path, progress: Progress | None = None
) -> Iterator[StartingServer]:
    """Start the project's server, or join the running one; afterwards, stop it if no other command uses it.

    The block starts while the server is still starting; `ready()` waits for it.
    """
    check_system()
    folder = program.folder(root)
    with _reporting_write_errors(program, folder):
        make_folder(folder.path)
    with open_lock(folder.users_lock) as user:
        with _reporting_write_errors(program, folder):
            _join(program, folder, user, progress)
        try:
            state = read_state(folder)
            with archive_meanwhile(state.archive, state.jvm) if state else nullcontext():
                yield StartingServer(program, folder)
        finally:
            keep_in_session(program.name, root)
            _leave(program, folder, user)


def leave_server(program: ServerProgram, root: Path, user: int) -> None:
    """Stop the server, unless others use it than the one with this lock of `users.lock`."""
    _leave(program, program.folder(root), user)


def keep_running(program: ServerProgram, root: Path, progress: Progress | None = None) -> RunningServer:
    """Start or join the server, and keep it running until it is stopped."""
    folder = program.folder(root)
    with share_server(program, root, progress) as starting:
        server = starting.ready()
        with _reporting_write_errors(program, folder), lock_file(folder.start_lock, _LOCK):
            _set_keeps_running(folder, keeps_running=True)
    return server


def revive_server(program: ServerProgram, root: Path) -> bool:
    """Restart the server if it died while a command uses it; return whether it had died."""
    folder = program.folder(root)
    if is_alive(folder):
        return False
    installed = program.install(None)
    with _reporting_write_errors(program, folder), lock_file(folder.start_lock, _LOCK):
        if is_alive(folder):
            return False
        state = read_state(folder)
        if state and state.archive:
            drop_archive(state.archive, used=True)  # in case it is damaged
        launch_server(program, folder, installed, keeps_running=state is not None and state.keeps_running)
    _wait(program, folder)
    return True


def stop_shared(program: ServerProgram, root: Path, *, force: bool = False) -> Stopped:
    """Stop the server; if a command is using it, it stops after that command, unless forced."""
    check_system()
    folder = program.folder(root)
    if not folder.path.is_dir():
        return "not running"
    leave_in_session(program.name, root)
    with _reporting_write_errors(program, folder), lock_file(folder.start_lock, _LOCK):
        if not is_alive(folder):
            return "not running"
        _set_keeps_running(folder, keeps_running=False)
        if _is_in_use(folder) and not force:
            return "in use"
        stop_server(program, folder)
        return "stopped"


def server_status(program: ServerProgram, root: Path) -> ServerStatus:
    check_system()
    folder = program.folder(root)
    state = read_state(folder)
    if state is None or not is_alive(folder):
        return ServerStatus(
            "stopped", None, None, keeps_running=False, used=False, folder=folder.path, log=folder.log
        )
    with _reporting_write_errors(program, folder), lock_file(folder.start_lock, _LOCK):
        used = _is_in_use(folder)
    return ServerStatus(
        "running" if program.answers(state) else "starting",
        state.address,
        read_pid(folder),
        keeps_running=state.keeps_running,
        used=used,
        folder=folder.path,
        log=folder.log,
    )


def _is_in_use(folder: ServerFolder) -> bool:
    """Whether a command uses the server. Requires the start lock, since the check takes the lock briefly."""
    with open_lock(folder.users_lock) as handle:
        return not try_lock(handle)


def _join(program: ServerProgram, folder: ServerFolder, user: int, progress: Progress | None) -> None:
    # Steps that may take long or fail come before the lock that other commands wait for.
    installed: Installed | None = None if is_alive(folder) else program.install(progress)
    with lock_file(folder.start_lock, _LOCK):
        acquire_lock(user, _LOCK, shared=True)
        if not is_alive(folder):
            launch_server(program, folder, installed or program.install(progress))


def _leave(program: ServerProgram, folder: ServerFolder, user: int) -> None:
    with lock_file(folder.start_lock, _LOCK):
        state = read_state(folder)
        # An exclusive lock means that no other command uses the server.
        if (state is None or not state.keeps_running) and try_lock(user):
            stop_server(program, folder)


def _wait(program: ServerProgram, folder: ServerFolder) -> RunningServer:
    deadline = time.monotonic() + _START
    while True:
        state = read_state(folder)
        if state and program.answers(state):
            return RunningServer(state.address, read_pid(folder) or 0, folder.path)
        if not is_alive(folder):
            _restart(program, folder)
        if time.monotonic() > deadline:
            if state and state.archive:
                # A damaged archive can also make a JVM hang; the next start works without it.
                drop_archive(state.archive, used=True)
            message = f"{program.title} does not answer after {_START:.0f} seconds"
            remedy = f"see {folder.log}; `millstream broker stop --force` stops it"
            raise MillstreamError(
                Diagnostic(program.silent_code, message, None, remedy, notes=_notes(folder))
            )
        time.sleep(_POLL)


def _restart(program: ServerProgram, folder: ServerFolder) -> None:
    """Restart a server whose port was taken during its start; raise if it ended for another reason.

    A damaged class archive can crash the JVM: the next attempt is made without it.
    """
    installed = program.install(None)
    with _reporting_write_errors(program, folder), lock_file(folder.start_lock, _LOCK):
        state = read_state(folder)
        if is_alive(folder):
            return
        damaged = state.archive if state and state.archive and state.archive.file else None
        if state is None or state.tries >= _TRIES or not (address_in_use(folder) or damaged):
            remedy = f"see {folder.log}; {_START_OVER}"
            message = f"{program.title} ended during its start"
            raise MillstreamError(Diagnostic(program.ended_code, message, None, remedy, notes=_notes(folder)))
        if damaged and not address_in_use(folder):
            drop_archive(damaged, used=True)
        launch_server(program, folder, installed, keeps_running=state.keeps_running, tries=state.tries + 1)


def _notes(folder: ServerFolder) -> tuple[DiagnosticNote, ...]:
    return tuple(map(DiagnosticNote, last_lines(folder)))


def _set_keeps_running(folder: ServerFolder, *, keeps_running: bool) -> None:
    if state := read_state(folder):
        write_state(folder, structs.replace(state, keeps_running=keeps_running))


def _reporting_write_errors(program: ServerProgram, folder: ServerFolder) -> AbstractContextManager[None]:
    message = f"{program.title} can't be started in {folder.path}"
    return reporting_os_errors("MS814", message, "make the folder writable, or free disk space")
