"""Starts, checks and stops a server's process. All functions except `is_alive` require the start lock."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.local.environment import for_java
from millstream.local.java import check_folder
from millstream.local.locks import acquire_lock, is_locked, open_lock
from millstream.local.server.class_archive import drop_names, keep_names
from millstream.local.server.folder import ServerFolder
from millstream.local.server.log import log_contains
from millstream.local.server.program import Installed, Ports, ServerProgram
from millstream.local.server.state import ServerState, read_pid, read_state, write_state

_PATIENCE = 15.0
"""Seconds for a server to stop by itself; the broker usually takes 0.2."""
_AGAIN = 0.5


def is_alive(folder: ServerFolder) -> bool:
    return is_locked(folder.process_lock)


def launch_server(
    program: ServerProgram,
    folder: ServerFolder,
    installed: Installed,
    *,
    keeps_running: bool = False,
    tries: int = 1,
) -> None:
    """Start the process and return immediately.

    A shell starts it in the background and writes its id, so that the file is correct even if this process is
    killed meanwhile. The server is not a child of this process, which doesn't need to wait for its end.
    """
    check_folder(folder.path)
    before = read_state(folder)
    folder.log.parent.mkdir(parents=True, exist_ok=True)
    if folder.log.exists():
        folder.log.replace(folder.log.with_name(f"{folder.log.name}.1"))
    folder.pid.unlink(missing_ok=True)
    # Reuse the last port, for tools that were configured with it, unless that port just failed.
    ports = _free_ports(before.port if before and tries == 1 else 0)
    if before and before.archive:
        drop_names(before.archive)
    planned = program.launch(folder, installed, ports)
    write_state(
        folder, ServerState(ports[0], planned.identity, keeps_running, tries, planned.archive, planned.jvm)
    )
    _spawn(folder, f"{{ {planned.script}; }} & echo $! > {folder.pid.name}")


def _spawn(folder: ServerFolder, script: str) -> None:
    with open_lock(folder.process_lock) as handle, folder.log.open("ab") as log:
        # Another process may hold the lock for a moment to check whether the server is alive.
        acquire_lock(handle, _PATIENCE)
        subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", script],
            cwd=folder.path,
            env=for_java(os.environ),  # a server outlives this command
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(handle,),
            start_new_session=True,  # Ctrl-C in a terminal must not stop the server
            check=True,
        )


def _free_ports(preferred: int) -> Ports:
    with socket.socket() as first, socket.socket() as second:
        # As Java does, to ignore lingering connections of the last server.
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            first.bind(("127.0.0.1", preferred))
        except OSError:
            first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def stop_server(program: ServerProgram, folder: ServerFolder) -> bool:
    """Stop the server and wait for its end; return whether it was running."""
    if not is_alive(folder):
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        if _end_by(folder, number):
            folder.pid.unlink(missing_ok=True)
            state = read_state(folder)
            # A server that was ready to serve has loaded all its classes.
            if state and state.archive and log_contains(folder, program.started):
                keep_names(state.archive)
            elif state and state.archive:
                drop_names(state.archive)
            return True
    remedy = "end that process, or the container that it runs in"
    process = read_pid(folder) or "unknown"
    message = f"{program.title} of {folder.path} can't be stopped (process {process})"
    raise MillstreamError(Diagnostic("MS815", message, None, remedy))


def _end_by(folder: ServerFolder, number: signal.Signals) -> bool:
    """Repeat a signal until it works: just after its start, a process may miss it or not be recognised."""
    start = sent = time.monotonic()
    _signal(folder, number)
    while is_alive(folder):
        now = time.monotonic()
        if now - start > _PATIENCE:
            return False
        if now - sent > _AGAIN:
            _signal(folder, number)
            sent = now
        time.sleep(0.01)
    return True


def _signal(folder: ServerFolder, number: signal.Signals) -> None:
    """Send a signal to the process in the pid file, if it is certainly the server.

    The lock shows that the server lives and that the file is about it. But if containers share the folder,
    the id may belong to another process.
    """
    pid = read_pid(folder)
    if pid is not None and str(folder.path) in _command_line(pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _command_line(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            return ""
    result = subprocess.run(  # noqa: S603
        ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)],
        env=for_java(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout
